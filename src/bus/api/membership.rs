//! A membership: a process's handle on one live session, in whose name it acts on the bus.

use std::sync::{Arc, Mutex, MutexGuard};

use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::answer_receipt::Answer;
use super::bus::Bus;
use super::unheard_claims::{Claimable, Claims};
use crate::bus::error::BusError;
use crate::bus::rules::{self, Description, NameChoice, NewMember, Operation, Refusal};
use crate::bus::shared::Receipt;
use crate::bus::state::{Request, State};
use crate::domain::ids::{CallId, CommandId, RequestId, SessionId};
use crate::domain::limits;
use crate::domain::member::{Departure, HostId, MemberKind, ProcessMark};
use crate::domain::name::Name;
use crate::domain::wait_times;
use crate::sys::mutex::lock;
use crate::sys::process::ancestors;
use crate::sys::random_ids;

/// A member that wants to join.
#[derive(Clone, Debug)]
pub struct Joining {
    /// The requested name.
    pub choice: NameChoice,
    pub kind: MemberKind,
    /// Its roles in the team.
    pub roles: Vec<String>,
    /// What else it says of itself.
    pub description: Description,
}

/// A call that was answered with messages.
#[derive(Clone, Debug)]
pub(crate) struct Answered {
    pub(crate) call: CallId,
    pub(crate) answer: Answer,
    /// What it has claimed.
    pub(crate) claimed: Option<Claimable>,
}

/// A handle on one live session of a member. Cheap to clone.
#[derive(Clone)]
pub struct Membership {
    bus: Bus,
    session: SessionId,
    name: Name,
    /// Calls that were answered with messages. A call that begins after the answer proves that they were read.
    answered: Arc<Mutex<Vec<Answered>>>,
    claims: Claims,
    /// The longest answer that its model is shown, in bytes.
    answer_bytes: usize,
    /// The host on which it has joined, on a bus that several machines share.
    host: Option<HostId>,
}

impl Membership {
    /// Joins the bus as a peer or an orchestrator: holds the presence, then announces it.
    ///
    /// Takes over the name of a dead session, and waits up to 5 s for the name of a live one.
    pub async fn join(bus: &Bus, joining: Joining) -> Result<Self, BusError> {
        Self::join_after(bus, joining, None).await
    }

    /// Joins the bus like [`Self::join`], for a program that asks this process over a network connection. The client of this process is
    /// not that program's, so the hooks of such a client do not take the messages.
    pub async fn join_for_program(bus: &Bus, joining: Joining) -> Result<Self, BusError> {
        Self::join_with(bus, joining, None, None).await
    }

    /// Joins the bus like [`Self::join`]. The same append sends it a notice of the new name of the bus that was put aside.
    pub async fn join_after(
        bus: &Bus,
        joining: Joining,
        put_aside: Option<String>,
    ) -> Result<Self, BusError> {
        Self::join_with(bus, joining, put_aside, client()).await
    }

    async fn join_with(
        bus: &Bus,
        joining: Joining,
        put_aside: Option<String>,
        client: Option<ProcessMark>,
    ) -> Result<Self, BusError> {
        let session = random_ids::session();
        bus.hold(session)?;
        bus.attend(session)?;
        let joined = Self::announce(bus, session, (joining, put_aside, client)).await;
        if joined.is_err() {
            bus.release(session);
        }
        joined
    }

    async fn announce(
        bus: &Bus,
        session: SessionId,
        (joining, put_aside, client): (Joining, Option<String>, Option<ProcessMark>),
    ) -> Result<Self, BusError> {
        let deadline = Instant::now() + wait_times::NAME;
        loop {
            bus.refresh()?;
            let holders: Vec<SessionId> = bus.look(|state| {
                let wanted = joining.choice.wanted().iter();
                wanted.filter_map(|name| state.live(name).map(|live| live.id)).collect()
            });
            // Who begins a team anew sets it up, also if the last one left no word.
            let dead = bus.dead_if_all_are().unwrap_or_else(|| bus.dead_of(&holders));
            let new = NewMember {
                roles: joining.roles.clone(),
                description: joining.description.clone(),
                client,
                host: bus.host(),
                dead,
                put_aside: put_aside.clone(),
                ..NewMember::new(session, joining.choice.clone(), joining.kind, std::process::id())
            };
            match bus.submit(None, Vec::new(), Operation::Join(Box::new(new))).await {
                Ok(_) => {
                    let joined = Self::of(bus, session)?;
                    if joining.kind == MemberKind::Orchestrator {
                        joined.summarize_ends().await;
                    }
                    return Ok(joined);
                }
                Err(BusError::Refused(Refusal::NameTaken { .. })) if Instant::now() < deadline => {
                    tokio::time::sleep(wait_times::LOOK_AT_NAME).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Summarizes the tasks that ended while the member was away, if they are too many for single notices.
    async fn summarize_ends(&self) {
        let needs_summary = |state: &State| rules::is_summary_needed(state, &self.name);
        while self.bus.look(needs_summary) {
            let summarize = Operation::NotifyOfEndedTasks(self.session);
            match self.bus.submit(None, Vec::new(), summarize).await {
                Ok(receipt) if !receipt.events.is_empty() => {}
                Ok(_) => return,
                Err(error) => {
                    // Then each task keeps a notice of its own.
                    tracing::debug!("failed to merge the notices of ended tasks: {error}");
                    return;
                }
            }
        }
    }

    /// Returns the membership of a spawned agent, for an endpoint that shows its token. Its bridge holds the presence.
    pub fn of_agent(bus: &Bus, session: SessionId, token: &str) -> Result<Self, BusError> {
        let hash = token_hash(token);
        let is_valid = bus.look(|state| {
            let session = state.session(session)?;
            session.token_hash.as_ref().filter(|expected| **expected == hash).map(|_| ())
        });
        is_valid.ok_or(Refusal::NotYours)?;
        bus.attend(session)?;
        Self::of(bus, session)
    }

    /// Returns the membership of a session that another process holds, for a command that the client of that process runs.
    pub fn beside(bus: &Bus, session: SessionId) -> Result<Self, BusError> {
        Self::of(bus, session)
    }

    fn of(bus: &Bus, session: SessionId) -> Result<Self, BusError> {
        let (name, host) = bus.look(|state| {
            let name = state.session(session).map(|session| session.name.clone());
            (name, state.host_of(session).map(|host| host.id))
        });
        let name = name.ok_or(Refusal::Left)?;
        Ok(Self {
            bus: bus.clone(),
            session,
            name,
            answered: Arc::default(),
            claims: Claims::default(),
            answer_bytes: limits::ANSWER_BYTES,
            host,
        })
    }

    /// Returns the same membership with another limit for the answers that its model is shown.
    #[must_use]
    pub fn with_answers_of(self, answer_bytes: usize) -> Self {
        Self { answer_bytes, ..self }
    }

    /// Returns the room for messages in an answer, in bytes of JSON.
    pub fn answer_room(&self) -> usize {
        self.answer_bytes.saturating_sub(limits::ENVELOPE_BYTES)
    }

    /// Returns the room for the text of a message that is alone in an answer.
    pub fn text_room(&self) -> usize {
        self.answer_room().saturating_sub(limits::HEADER_BYTES)
    }

    pub fn bus(&self) -> &Bus {
        &self.bus
    }

    pub fn session(&self) -> SessionId {
        self.session
    }

    /// Returns the member's name.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Returns a request that the state knows, if this session may hear of it: for others there is none of that id.
    pub fn known_request(&self, id: &RequestId) -> Option<Request> {
        self.bus().look(|state| {
            let (me, request) = (state.session(self.session())?, state.request(id)?);
            state.may_hear_of(me, request).then(|| request.clone())
        })
    }

    /// Says whether the other machines have found that of this session dead: the session has ended, and this process goes on.
    pub fn was_found_dead(&self) -> bool {
        self.host.is_some() && self.host != self.bus.host().map(|host| host.id)
    }

    /// Refuses after the end of the session, so that its client learns of that instead of an empty inbox.
    pub fn check_live(&self) -> Result<(), BusError> {
        if let Err(error) = self.bus.refresh() {
            // The operation that follows reports the same error.
            tracing::debug!("failed to refresh the bus for {}: {error}", self.name);
        }
        let lives = self.bus.look(|state| state.session(self.session).is_some());
        lives.then_some(()).ok_or_else(|| Refusal::Left.into())
    }

    /// Performs an operation in the name of this session, outside of any call.
    pub async fn ask(&self, operation: Operation) -> Result<Receipt, BusError> {
        self.bus.submit(Some(self.session), Vec::new(), operation).await
    }

    /// Performs an operation that may have been attempted before under this id. It happens once.
    pub async fn ask_again(
        &self,
        id: CommandId,
        operation: Operation,
    ) -> Result<Receipt, BusError> {
        let me = Some(self.session);
        self.bus.submit_as(id, me, Vec::new(), operation).await
    }

    /// Leaves the bus and removes the presence, also if nothing can be written: then others find the session dead.
    pub async fn leave(&self, departure: Departure) -> Result<(), BusError> {
        let left = self.leave_or_stay(departure).await;
        if left.is_err() {
            self.remove_presence();
        }
        left
    }

    /// Leaves the bus and removes the presence, unless that cannot be written: then the session goes on. Where it is unknown whether that
    /// was written, the log says it.
    pub async fn leave_or_stay(&self, departure: Departure) -> Result<(), BusError> {
        let operation = Operation::Leave { session: self.session, departure, detail: None };
        match self.ask(operation).await {
            // Another process has recorded it already.
            Ok(_) | Err(BusError::Refused(Refusal::Left)) => {
                self.remove_presence();
                Ok(())
            }
            Err(_) if matches!(self.check_live(), Err(BusError::Refused(Refusal::Left))) => {
                self.remove_presence();
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn remove_presence(&self) {
        self.bus.release(self.session);
        // Dead sessions leave theirs behind, and the next process may open the bus much later.
        if let Err(error) = self.bus.clear_presences() {
            tracing::debug!("failed to remove the presences of dead sessions: {error}");
        }
    }

    /// Notes calls that were answered with messages.
    pub(crate) fn note_answered(&self, calls: impl IntoIterator<Item = Answered>) {
        self.answered().extend(calls);
    }

    /// Returns the claims of this session that its client may not know of.
    pub(crate) fn claims(&self) -> Claims {
        self.claims.clone()
    }

    pub(super) fn answered(&self) -> MutexGuard<'_, Vec<Answered>> {
        lock(&self.answered)
    }
}

/// Returns the process whose MCP server this one is.
fn client() -> Option<ProcessMark> {
    let ancestors::Ancestor { pid, started } = ancestors::client()?;
    let started = Some(started);
    Some(ProcessMark { pid, started })
}

/// Returns the hash of an endpoint's token. The bridge never writes the token itself.
pub fn token_hash(token: &str) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(token.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bus::storage::faulty_log::{Fault, FaultPoint, Faults};
    use crate::bus::storage::in_memory::Store;
    use crate::sys::clock;

    #[tokio::test]
    async fn a_member_whose_leaving_has_an_unknown_outcome_has_left_if_the_log_says_so() {
        for (fault, has_left) in [(Fault::OutcomeUnknown, true), (Fault::Io, false)] {
            let faults = Faults::default();
            let store = Store::new(Arc::new(clock::now));
            let bus = Bus::open(Box::new(faults.before(store.log()))).unwrap();
            let ann = bus.join_peer("ann").await;
            faults.fail(FaultPoint::Append, 1, 100, fault);
            let left = ann.leave_or_stay(Departure::Closed).await;
            faults.mend();
            assert_eq!(left.is_ok(), has_left, "{left:?}");
            let is_there = bus.look(|state| state.session(ann.session()).is_some());
            assert_eq!((is_there, bus.is_held(ann.session())), (!has_left, !has_left));
            bus.close().await;
        }
    }
}
