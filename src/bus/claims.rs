//! The claims of one session of which its client may not have heard: one whose answer does not come to it is released.
//!
//! Several calls may claim the same request. The last of them has its fate in its hands: what becomes of the answers of the others
//! matters no more, so that nobody is robbed of a claim that it was told of.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::error::BusError;
use super::rules::Ask;
use super::seat::Seat;
use crate::domain::id::{CallId, RequestId};
use crate::domain::limits;

/// The pause after a release that the bus could not take. Each further one is twice as long, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

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
        let until = Instant::now() + Duration::from_millis(limits::HANDED_MS);
        let mut pause = FIRST_PAUSE;
        while Instant::now() < until {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
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
        let outcome = self.ask(Ask::Release(request.clone())).await;
        if !matches!(outcome, Err(BusError::Log(_))) {
            claims.end(request, call);
        }
        outcome.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::event::Starting;
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
}
