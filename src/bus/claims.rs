//! The claims of one session of which its client may not have heard: one whose answer does not come to it is released.
//!
//! Several calls may claim the same request. The last of them has its fate in its hands: what becomes of the answers of the others
//! matters no more, so that nobody is robbed of a claim that it was told of.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::again::Again;
use super::error::BusError;
use super::event::Event;
use super::handle::Receipt;
use super::rules::Ask;
use super::seat::Seat;
use crate::domain::id::{CallId, RequestId};
use crate::domain::message::MessageKind;

/// Cheap to clone; clones are the same.
#[derive(Clone, Default)]
pub(super) struct Claims {
    /// Held while the session claims or releases anything, so that no claim is told while its release is on its way.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// The last call to claim each request anew.
    unheard: Arc<Mutex<BTreeMap<RequestId, CallId>>>,
}

impl Claims {
    /// Waits until nothing else of the session claims or releases.
    pub(super) async fn turn(&self) -> tokio::sync::OwnedMutexGuard<()> {
        Arc::clone(&self.turn).lock_owned().await
    }

    /// Notes that a call is about to claim a request, which its session holds or not. Says whether the claim hangs on its answer: it
    /// is new, or that of an earlier call whose answer its client may not have.
    pub(super) fn begin(&self, request: &RequestId, call: CallId, is_held: bool) -> bool {
        let mut unheard = self.unheard();
        let is_new = !is_held || unheard.contains_key(request);
        if is_new {
            unheard.insert(request.clone(), call);
        }
        is_new
    }

    /// Says whether a claim still hangs on the answer of this call.
    fn hangs_on(&self, request: &RequestId, call: CallId) -> bool {
        self.unheard().get(request) == Some(&call)
    }

    /// Notes that nothing hangs on the answer of this call any more: its client has it, or there is no claim.
    pub(super) fn end(&self, request: &RequestId, call: CallId) {
        let mut unheard = self.unheard();
        if unheard.get(request) == Some(&call) {
            unheard.remove(request);
        }
    }

    /// Notes that the claimer knows of its claim: it hangs on no answer.
    fn know(&self, request: &RequestId) {
        self.unheard().remove(request);
    }

    fn unheard(&self) -> MutexGuard<'_, BTreeMap<RequestId, CallId>> {
        // Every change leaves it whole.
        self.unheard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    /// Gives up a claim whose answer did not come to the client, unless a later call has it. What the bus cannot take now is tried
    /// again beside all else, for as long as a hand-over would last.
    pub(super) async fn release(
        &self,
        call: CallId,
        claimed: Option<RequestId>,
    ) -> Result<(), BusError> {
        let Some(request) = claimed else {
            return Ok(());
        };
        let outcome = self.try_to_release(call, &request).await;
        if let Err(BusError::Log(error)) = outcome {
            tracing::debug!("{request} is released as soon as that can be written: {error}");
            let seat = self.clone();
            tokio::spawn(async move { seat.release_later(call, &request).await });
            return Ok(());
        }
        outcome
    }

    async fn release_later(&self, call: CallId, request: &RequestId) {
        let mut again = Again::begin();
        while again.comes().await {
            match self.try_to_release(call, request).await {
                Err(BusError::Log(_)) => {}
                _ => return,
            }
        }
        tracing::warn!(
            "{request} stays claimed by {}, which was not told",
            self.name()
        );
    }

    async fn try_to_release(&self, call: CallId, request: &RequestId) -> Result<(), BusError> {
        let claims = self.claims();
        let _turn = claims.turn().await;
        if !claims.hangs_on(request, call) {
            return Ok(());
        }
        let outcome = self.ask(Ask::Release(request.clone(), call)).await;
        if !matches!(outcome, Err(BusError::Log(_))) {
            claims.end(request, call);
        }
        outcome.map(drop)
    }

    /// Notes what this session has written about requests: it knows of its claims of those.
    pub(super) fn note_wrote(&self, receipt: &Receipt) {
        for event in &receipt.events {
            let Event::MessageSent(sent) = event else {
                continue;
            };
            let Some(thread) = sent.thread.as_ref() else {
                continue;
            };
            let about = self.bus().look(|state| {
                let first = state.message(thread);
                let first = first.filter(|first| first.kind == MessageKind::Request);
                first.and_then(|first| first.request.clone())
            });
            if let Some(request) = about
                && sent.from.member() == Some(self.name())
            {
                self.claims().know(&request);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::bus::event::Starting;
    use crate::bus::faulty::{Fault, Faults};
    use crate::bus::memory::Store;
    use crate::bus::rules::{NewAgent, Wish};
    use crate::bus::seat::token_hash;
    use crate::bus::{Answer, Bus, Claimed, Joining};
    use crate::domain::id::SessionId;
    use crate::domain::member::MemberKind;
    use crate::domain::name::Name;
    use crate::sys::{clock, ids};

    async fn join(bus: &Bus, name: &str) -> Seat {
        let wish = Wish::Chosen(Name::parse(name).unwrap());
        let (kind, roles) = (MemberKind::Peer, Vec::new());
        let joined = Seat::join(bus, Joining { wish, kind, roles }).await;
        joined.unwrap()
    }

    async fn wins(call: &mut crate::bus::Call, request: &RequestId) -> bool {
        matches!(call.claim(request.clone()).await.unwrap(), Claimed::Won(_))
    }

    #[tokio::test]
    async fn of_several_calls_that_claim_a_request_the_last_one_decides() {
        let store = Store::new(Arc::new(clock::now));
        let bus = Bus::open(Box::new(store.log())).unwrap();
        let (bob, ann, carl) = (
            join(&bus, "bob").await,
            join(&bus, "ann").await,
            join(&bus, "carl").await,
        );
        let hour = Duration::from_hours(1);
        let mut open = bob.call();
        let request = open.open_request("do it".into(), None, hour, hour);
        let request = request.await.unwrap();

        let (mut first, mut second) = (ann.call(), ann.call());
        assert!(wins(&mut first, &request).await && wins(&mut second, &request).await);
        first.give_back().await.unwrap();
        assert!(
            !wins(&mut carl.call(), &request).await,
            "ann was told that it is hers"
        );
        second.give_back().await.unwrap();
        let mut of_carl = carl.call();
        assert!(
            wins(&mut of_carl, &request).await,
            "nobody was told of a claim"
        );
        of_carl.answered().await;
        // That it calls again shows that it was told.
        let mut again = carl.call();
        assert!(wins(&mut again, &request).await);
        again.give_back().await.unwrap();
        assert!(!wins(&mut ann.call(), &request).await);
        bus.close().await;
    }

    /// Starts an agent whose endpoints show this token, on the bus alone.
    async fn start(bridge: &Seat, token: &str) -> SessionId {
        let session = ids::session();
        bridge.bus().hold(session).unwrap();
        let starting = Starting {
            session,
            name: Name::parse("codex").unwrap(),
            chosen: false,
            profile: "codex".into(),
            model: None,
            cwd: "/project".into(),
            roles: Vec::new(),
            owner: bridge.session(),
            token_hash: token_hash(token),
        };
        let wish = Wish::Like(starting.name.clone());
        let new = NewAgent { wish, starting };
        bridge.ask(Ask::Start(Box::new(new), None)).await.unwrap();
        session
    }

    #[tokio::test]
    async fn what_a_dead_endpoint_claimed_hangs_on_the_next_call_that_claims_it() {
        for is_proven in [true, false] {
            let store = Store::new(Arc::new(clock::now));
            let bus = Bus::open(Box::new(store.log())).unwrap();
            let (lead, bob) = (join(&bus, "lead").await, join(&bus, "bob").await);
            let agent = start(&lead, "secret").await;
            let hour = Duration::from_hours(1);
            let mut open = bob.call();
            let request = open.open_request("do it".into(), None, hour, hour);
            let request = request.await.unwrap();

            let endpoint = || Seat::of_agent(&bus, agent, "secret").unwrap();
            let mut lost = endpoint().call();
            assert!(wins(&mut lost, &request).await);
            // Killed: it can release nothing.
            std::mem::forget(lost);
            let next = endpoint();
            let mut again = next.call();
            assert!(wins(&mut again, &request).await);
            assert!(
                again.answered_by(Answer::given()).await,
                "something hangs on it"
            );
            if is_proven {
                next.call().answered().await;
            }
            lead.ask(Ask::EndCalls(agent)).await.unwrap();
            assert_eq!(!wins(&mut lead.call(), &request).await, is_proven);
            bus.close().await;
        }
    }

    /// A team in which an agent may claim what bob has asked for.
    struct Offered {
        bus: Bus,
        lead: Seat,
        agent: SessionId,
        request: RequestId,
    }

    async fn offered(faults: &Faults) -> Offered {
        let store = Store::new(Arc::new(clock::now));
        let bus = Bus::open(Box::new(faults.before(store.log()))).unwrap();
        let (lead, bob) = (join(&bus, "lead").await, join(&bus, "bob").await);
        let agent = start(&lead, "secret").await;
        let hour = Duration::from_hours(1);
        let mut open = bob.call();
        let request = open.open_request("do it".into(), None, hour, hour);
        let request = request.await.unwrap();
        Offered {
            bus,
            lead,
            agent,
            request,
        }
    }

    impl Offered {
        fn endpoint(&self) -> Seat {
            Seat::of_agent(&self.bus, self.agent, "secret").unwrap()
        }

        /// Claims by a call whose answer is on its way like this.
        async fn claim(&self, by: &Seat, answer: Answer) -> CallId {
            let mut call = by.call();
            assert!(wins(&mut call, &self.request).await);
            let id = call.id();
            assert!(call.answered_by(answer).await, "something hangs on it");
            id
        }

        async fn is_free(&self) -> bool {
            wins(&mut self.lead.call(), &self.request).await
        }
    }

    #[tokio::test]
    async fn a_call_that_is_cancelled_late_takes_no_claim_that_another_endpoint_has_made() {
        for is_proven in [true, false] {
            let offered = offered(&Faults::default()).await;
            let (old, new) = (offered.endpoint(), offered.endpoint());
            let stuck = offered.claim(&old, Answer::default()).await;
            offered.claim(&new, Answer::given()).await;
            if is_proven {
                new.call().answered().await;
            }
            old.unanswered(stuck).await.unwrap();
            assert!(!offered.is_free().await, "proven: {is_proven}");
            offered.bus.close().await;
        }
    }

    #[tokio::test]
    async fn a_call_that_is_cancelled_late_takes_no_claim_that_its_claimer_has_written_about() {
        for (is_agent, writes) in [(true, true), (true, false), (false, true), (false, false)] {
            let offered = offered(&Faults::default()).await;
            let claimer = if is_agent {
                offered.endpoint()
            } else {
                join(&offered.bus, "ann").await
            };
            let stuck = offered.claim(&claimer, Answer::default()).await;
            if writes {
                let mut call = claimer.call();
                let about = Some(offered.request.to_string());
                let sent = call.send("lead".into(), "on it".into(), about);
                sent.await.unwrap();
            }
            claimer.unanswered(stuck).await.unwrap();
            assert_ne!(offered.is_free().await, writes, "an agent: {is_agent}");
            offered.bus.close().await;
        }
    }

    #[tokio::test]
    async fn that_an_answer_was_written_is_noted_behind_a_busy_moment() {
        let faults = Faults::default();
        let offered = offered(&faults).await;
        let endpoint = offered.endpoint();
        let call = offered.claim(&endpoint, Answer::given()).await;
        faults.fail_at(2, Fault::Busy, |event| {
            matches!(event, Event::AnswerWritten(_))
        });
        endpoint.written(call).await.unwrap();
        let is_written = || {
            offered
                .bus
                .look(|state| state.is_written(offered.agent, call))
        };
        let mut changes = offered.bus.changes();
        let noted = async {
            while !is_written() {
                changes.changed().await.unwrap();
            }
        };
        let in_time = tokio::time::timeout(Duration::from_secs(20), noted).await;
        assert!(in_time.is_ok(), "it is not noted");
        assert_eq!(faults.failed(), 2);
        offered.bus.close().await;
    }
}
