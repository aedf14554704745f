//! A membership: one live session of a member, and all that a process does in its name.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::answer_receipt::Answer;
use super::bus::{Bus, Receipt};
use super::call::Call;
use super::retry_pauses::Again;
use super::unheard_claims::Claims;
use crate::bus::error::BusError;
use crate::bus::rules::{self, NameChoice, NewMember, Operation, Refusal};
use crate::bus::state::State;
use crate::domain::ids::{CallId, CommandId, RequestId, SessionId};
use crate::domain::limits;
use crate::domain::member::{Departure, MemberKind, ProcessMark};
use crate::domain::message::DeliveryMethod;
use crate::domain::name::Name;
use crate::sys::process::ancestors;
use crate::sys::random_ids;

/// How long a name is waited for whose holder is live: a client that restarts its server closes the old one first.
const NAME_WAIT: Duration = Duration::from_secs(5);

/// How often the holder's presence is looked at meanwhile; its leaving rings no bell of ours.
const NAME_LOOK: Duration = Duration::from_millis(100);

/// Who wants to join.
#[derive(Clone, Debug)]
pub struct Joining {
    /// The name it should have.
    pub wish: NameChoice,
    /// Peer or orchestrator.
    pub kind: MemberKind,
    /// What it is for.
    pub roles: Vec<String>,
}

/// A call that was answered with messages.
#[derive(Clone, Debug)]
pub(crate) struct Answered {
    pub(crate) call: CallId,
    pub(crate) answer: Answer,
    /// The request that it has claimed.
    pub(crate) claimed: Option<RequestId>,
}

/// One live session of a member, in this process. Cheap to clone.
#[derive(Clone)]
pub struct Membership {
    bus: Bus,
    session: SessionId,
    name: Name,
    /// Calls that were answered with messages, and whose taking a call proves that begins behind the answer.
    answered: Arc<Mutex<Vec<Answered>>>,
    claims: Claims,
    /// How many bytes of an answer its model is shown.
    answer_bytes: usize,
}

impl Membership {
    /// Joins the bus as a peer or an orchestrator: holds the presence, then announces it.
    ///
    /// A name whose holder is dead is taken over; one whose holder is live is waited for up to 5 s.
    pub async fn join(bus: &Bus, joining: Joining) -> Result<Self, BusError> {
        Self::join_after(bus, joining, None).await
    }

    /// Joins the bus like [`Self::join`], and is told in the same append what the bus is called now that was put aside before.
    pub async fn join_after(
        bus: &Bus,
        joining: Joining,
        put_aside: Option<String>,
    ) -> Result<Self, BusError> {
        let session = random_ids::session();
        bus.hold(session)?;
        bus.attend(session)?;
        let joined = Self::announce(bus, session, (joining, put_aside)).await;
        if joined.is_err() {
            bus.release(session);
        }
        joined
    }

    async fn announce(
        bus: &Bus,
        session: SessionId,
        (joining, put_aside): (Joining, Option<String>),
    ) -> Result<Self, BusError> {
        let deadline = Instant::now() + NAME_WAIT;
        loop {
            bus.refresh()?;
            let holder = match &joining.wish {
                NameChoice::Chosen(name) | NameChoice::Like(name) => {
                    bus.look(|state| state.live(name).map(|live| live.id))
                }
            };
            let new = NewMember {
                session,
                wish: joining.wish.clone(),
                kind: joining.kind,
                model: None,
                roles: joining.roles.clone(),
                pid: std::process::id(),
                client: client(),
                dead: holder.into_iter().filter(|holder| !bus.is_held(*holder)).collect(),
                put_aside: put_aside.clone(),
            };
            match bus.submit(None, Vec::new(), Operation::Join(Box::new(new))).await {
                Ok(_) => {
                    let joined = Self::of(bus, session)?;
                    if joining.kind == MemberKind::Orchestrator {
                        joined.tell_ends().await;
                    }
                    return Ok(joined);
                }
                Err(BusError::Refused(Refusal::NameTaken { .. })) if Instant::now() < deadline => {
                    tokio::time::sleep(NAME_LOOK).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Has the rest told of the tasks that ended while the session was away, where there are very many.
    async fn tell_ends(&self) {
        let wanted = || {
            let wanted = |state: &State| rules::is_summary_wanted(state, &self.name);
            self.bus.look(wanted)
        };
        while wanted() {
            let tell = Operation::TellEnds(self.session);
            match self.bus.submit(None, Vec::new(), tell).await {
                Ok(receipt) if !receipt.events.is_empty() => {}
                Ok(_) => return,
                Err(error) => {
                    // It reads of each by itself then.
                    tracing::debug!("failed to merge the notices of ended tasks: {error}");
                    return;
                }
            }
        }
    }

    /// Takes the membership of a spawned agent, for an endpoint that shows its token. The presence is its bridge's to hold.
    pub fn of_agent(bus: &Bus, session: SessionId, token: &str) -> Result<Self, BusError> {
        let hash = token_hash(token);
        let fits = bus.look(|state| {
            let session = state.session(session)?;
            session.token_hash.as_ref().filter(|expected| **expected == hash).map(|_| ())
        });
        fits.ok_or(Refusal::NotYours)?;
        bus.attend(session)?;
        Self::of(bus, session)
    }

    /// Takes the membership of a session beside the process that holds it, for what that process's client starts to speak for it.
    pub fn beside(bus: &Bus, session: SessionId) -> Result<Self, BusError> {
        Self::of(bus, session)
    }

    fn of(bus: &Bus, session: SessionId) -> Result<Self, BusError> {
        let name = bus.look(|state| state.session(session).map(|session| session.name.clone()));
        let name = name.ok_or(Refusal::Left)?;
        Ok(Self {
            bus: bus.clone(),
            session,
            name,
            answered: Arc::default(),
            claims: Claims::default(),
            answer_bytes: limits::ANSWER_BYTES,
        })
    }

    /// Returns the same membership, whose model is shown so many bytes of an answer.
    #[must_use]
    pub fn with_answers_of(self, answer_bytes: usize) -> Self {
        Self { answer_bytes, ..self }
    }

    /// Returns how many bytes of messages an answer has room for, as JSON writes them.
    pub fn answer_room(&self) -> usize {
        self.answer_bytes.saturating_sub(limits::ENVELOPE_BYTES)
    }

    /// Returns how many bytes the text of one message may have in an answer that has no other.
    pub fn text_room(&self) -> usize {
        self.answer_room().saturating_sub(limits::HEADER_BYTES)
    }

    /// Returns the bus.
    pub fn bus(&self) -> &Bus {
        &self.bus
    }

    /// Returns the session.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// Returns the member's name.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Refuses when the session has ended: with what has a membership in it, that says so instead of telling an empty inbox.
    pub fn check_lives(&self) -> Result<(), BusError> {
        if let Err(error) = self.bus.refresh() {
            // Whatever is asked for says what is wrong with the bus.
            tracing::debug!("failed to refresh the bus for {}: {error}", self.name);
        }
        let lives = self.bus.look(|state| state.session(self.session).is_some());
        lives.then_some(()).ok_or_else(|| Refusal::Left.into())
    }

    /// Asks for something in the name of this session, outside of any call.
    pub async fn ask(&self, ask: Operation) -> Result<Receipt, BusError> {
        self.bus.submit(Some(self.session), Vec::new(), ask).await
    }

    /// Asks for something that was perhaps asked for before under this id, which then happens once.
    pub async fn ask_again(&self, id: CommandId, ask: Operation) -> Result<Receipt, BusError> {
        let me = Some(self.session);
        self.bus.submit_as(id, me, Vec::new(), ask).await
    }

    /// Begins a call of a tool, by a caller that has all answers that were given. That it came proves that they were taken.
    pub fn call(&self) -> Call {
        self.call_at(u64::MAX)
    }

    /// Begins a call that its client has asked for with what begins at this byte of all that it says. That proves that the answers
    /// were taken that it had before; others may still be on their way to it.
    pub fn call_at(&self, byte: u64) -> Call {
        let mut answered = self.answered();
        let taken = answered.extract_if(.., |one| one.answer.precedes(byte));
        let taken: Vec<_> = taken.collect();
        drop(answered);
        for one in &taken {
            if let Some(request) = &one.claimed {
                self.claims.end(request, one.call);
            }
        }
        Call::new(self.clone(), taken)
    }

    /// Begins a call that shows that the model has been asked after all that hooks have said, or is asked now: that is proven to be
    /// taken. Neither a call of a tool nor the hook behind one shows it, as one step of a model may call several.
    pub fn call_behind_a_step(&self) -> Call {
        let said_by_hooks = |state: &State| {
            let mut calls = state.calls_handed_by(self.session, DeliveryMethod::Hook);
            calls.retain(|call| state.is_written(self.session, *call));
            calls
        };
        let said = self.bus.look(said_by_hooks).into_iter();
        let taken = said.map(|call| Answered { call, answer: Answer::given(), claimed: None });
        Call::new(self.clone(), taken.collect())
    }

    /// Says goodbye and removes the presence.
    pub async fn leave(&self, departure: Departure) -> Result<(), BusError> {
        let ask = Operation::Leave { session: self.session, departure, detail: None };
        let left = self.ask(ask).await;
        self.bus.release(self.session);
        // The dead leave theirs behind, and nobody may come for a while who looks.
        if let Err(error) = self.bus.clear_presences() {
            tracing::debug!("failed to clean up after dead members: {error}");
        }
        match left {
            // Somebody has written it already.
            Ok(_) | Err(BusError::Refused(Refusal::Left)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Takes back that a call was answered, because its answer was not read: what it was handed is unread again, and what it claimed
    /// is open.
    pub async fn unanswered(&self, call: CallId) -> Result<(), BusError> {
        let noted = {
            let mut answered = self.answered();
            answered.extract_if(.., |noted| noted.call == call).next()
        };
        let Some(noted) = noted else { return Ok(()) };
        let session = self.session;
        let settle = Operation::Settle { session, call, seen: false };
        let settled = self.ask(settle).await.map(drop);
        settled.and(self.release(call, noted.claimed).await)
    }

    /// Notes that the answer of a call was written to its client. An agent's bridge has to know that: the end of a turn proves only
    /// such answers. What the bus cannot take now is tried again beside all else.
    pub async fn written(&self, call: CallId) -> Result<(), BusError> {
        let is_agent = self.bus.look(|state| {
            let session = state.session(self.session);
            session.is_some_and(|session| session.owner.is_some())
        });
        if !is_agent {
            return Ok(());
        }
        match self.ask(Operation::AnswerWritten(call)).await {
            Err(BusError::Log(error)) => {
                tracing::debug!("failed to record that an answer was written, will retry: {error}");
                let membership = self.clone();
                tokio::spawn(async move { membership.written_later(call).await });
                Ok(())
            }
            outcome => outcome.map(drop),
        }
    }

    async fn written_later(&self, call: CallId) {
        let mut again = Again::begin();
        while again.comes().await {
            match self.ask(Operation::AnswerWritten(call)).await {
                Err(BusError::Log(_)) => {}
                _ => return,
            }
        }
        // By now what the call was handed or has claimed has been given back.
        tracing::warn!("gave up recording that an answer was written");
    }

    /// Notes calls that were answered with messages.
    pub(crate) fn note_answered(&self, calls: impl IntoIterator<Item = Answered>) {
        self.answered().extend(calls);
    }

    /// Returns what this session claims without having been told.
    pub(crate) fn claims(&self) -> Claims {
        self.claims.clone()
    }

    fn answered(&self) -> MutexGuard<'_, Vec<Answered>> {
        self.answered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the process that this one serves.
fn client() -> Option<ProcessMark> {
    let ancestors::Ancestor { pid, started } = ancestors::client()?;
    let started = Some(started);
    Some(ProcessMark { pid, started })
}

/// Returns what a bridge writes down of an endpoint's token.
pub fn token_hash(token: &str) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(token.as_bytes()))
}
