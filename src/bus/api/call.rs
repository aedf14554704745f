//! One tool call: the operations of a member while it lasts, and the messages that it receives.
//!
//! The messages of a call count as seen when the same session calls again and its client had the answer. A cancelled call requeues
//! them. So a call ends in [`Call::answered`] or [`Call::requeue`]; dropping a call requeues too.

pub mod acknowledge;
pub mod outgoing;

use std::time::Duration;

use tokio::time::Instant;

use self::outgoing::Outgoing;
use super::answer_receipt::Answer;
use super::bus::Bus;
use super::membership::{Answered, Membership};
use super::message_text::LoadedMessage;
use crate::bus::error::BusError;
use crate::bus::event::{Addressees, Event, MessageSent};
use crate::bus::rules::{Operation, Pick, Refusal};
use crate::bus::shared::Receipt;
use crate::bus::state::{Message, Request, State};
use crate::domain::ids::{CallId, MessageId, RequestId, TaskId};
use crate::domain::messaging::{Author, DeliveryMethod, MessageKind, Priority, RequestStatus};
use crate::domain::name::Name;
use crate::sys::random_ids;

/// A tool call in the name of a membership.
pub struct Call {
    membership: Membership,
    id: CallId,
    /// Earlier calls whose answers this call proves to be read, until that is on the bus.
    received: Vec<Answered>,
    /// Whether messages were delivered to this call, or may have been.
    holds: bool,
    /// The request that it has claimed, or may have.
    claimed: Option<RequestId>,
}

/// A message that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentMessage {
    pub id: MessageId,
    /// Its recipients, and whether each is live.
    pub recipients: Vec<(Name, bool)>,
    /// Whether it was sent a moment ago, and this is the same again.
    pub is_double: bool,
}

/// How a wait ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waited {
    Message(Box<LoadedMessage>),
    /// No message came in time.
    TimedOut,
    /// The session stops.
    Ended,
    /// With a message that is already in the turn, and may be shown there once more.
    AlsoInTurn(Box<LoadedMessage>),
    /// The wait did not begin: other messages are already in the turn, and the model has not been shown them yet.
    InTurn,
}

/// How a claim ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// The request is the caller's.
    Won(Request),
    /// Another member owns it, or it is closed.
    Lost {
        /// The request as last known.
        request: Request,
        /// The reason, in words.
        reason: String,
    },
}

impl Membership {
    /// Begins a tool call of a caller that has all earlier answers. The call proves that they were read.
    pub fn call(&self) -> Call {
        self.call_at(u64::MAX)
    }

    /// Begins a call that its client requested at this byte of its output. The call proves that the client has read the answers that
    /// it had by then; others may still be on their way.
    pub fn call_at(&self, byte: u64) -> Call {
        let mut answered = self.answered();
        let received = answered.extract_if(.., |one| one.answer.precedes(byte));
        let received: Vec<_> = received.collect();
        drop(answered);
        for one in &received {
            if let Some(request) = &one.claimed {
                self.claims().end(request, one.call);
            }
        }
        Call::new(self.clone(), received)
    }

    /// Begins a call which shows that the model began a step after all output of hooks, and so has read it. A tool call does not show
    /// that, nor does the hook after it: one step of a model may call several tools.
    pub fn call_after_a_step(&self) -> Call {
        let printed_by_hooks = |state: &State| {
            let mut calls = state.calls_in_flight_by(self.session(), DeliveryMethod::Hook);
            calls.retain(|call| state.is_written(self.session(), *call));
            calls
        };
        let printed = self.bus().look(printed_by_hooks).into_iter();
        let received =
            printed.map(|call| Answered { call, answer: Answer::given(), claimed: None });
        Call::new(self.clone(), received.collect())
    }
}

impl Call {
    fn new(membership: Membership, received: Vec<Answered>) -> Self {
        Self { membership, id: random_ids::call(), received, holds: false, claimed: None }
    }

    pub fn id(&self) -> CallId {
        self.id
    }

    pub fn membership(&self) -> &Membership {
        &self.membership
    }

    /// Performs an operation. The first successful one also records that earlier answers were read.
    pub async fn ask(&mut self, operation: Operation) -> Result<Receipt, BusError> {
        let received = self.proven();
        let receipt = self
            .membership
            .bus()
            .submit(Some(self.membership.session()), received, operation)
            .await?;
        self.received.clear();
        Ok(receipt)
    }

    /// Sends a message to one member.
    pub async fn send(
        &mut self,
        to: String,
        content: String,
        reply_to: Option<String>,
    ) -> Result<SentMessage, BusError> {
        self.send_as(Priority::Normal, to, content, reply_to).await
    }

    /// Sends a message with a priority.
    pub async fn send_as(
        &mut self,
        priority: Priority,
        to: String,
        content: String,
        reply_to: Option<String>,
    ) -> Result<SentMessage, BusError> {
        self.send_out(Outgoing { to, content, reply_to, priority, more: None }).await
    }

    /// Sends a message to all other live members. Returns none if there are no others.
    pub async fn broadcast(&mut self, content: String) -> Result<Option<SentMessage>, BusError> {
        let body = Bus::body(content);
        let receipt = match self.ask(Operation::Broadcast(body)).await {
            Err(BusError::Refused(Refusal::Double { id })) => {
                return Ok(Some(self.sent_before(id)));
            }
            outcome => outcome?,
        };
        match self.sent_in(&receipt, &[MessageKind::Broadcast]) {
            Ok(sent) => Ok(Some(sent)),
            Err(_) => Ok(None),
        }
    }

    /// Finds this member's message among a command's events. Overdue events stand before it.
    fn sent_in(&self, receipt: &Receipt, kinds: &[MessageKind]) -> Result<SentMessage, BusError> {
        let is_own = |sent: &&MessageSent| {
            kinds.contains(&sent.kind) && sent.from.member() == Some(self.membership.name())
        };
        let sent =
            receipt.events.iter().rev().filter_map(as_sent).find(is_own).ok_or(BusError::Closed)?;
        let recipients = self.membership.bus().look(|state| {
            let recipients_in_state = || {
                let message = state.message(&sent.id);
                let deliveries = message.map(|message| message.deliveries.iter());
                let names = deliveries.into_iter().flatten().map(|(name, _)| name);
                names.cloned().collect()
            };
            let names: Vec<Name> = match &sent.to {
                Addressees::Named(names) => names.clone(),
                Addressees::AllBut(_) => recipients_in_state(),
            };
            with_liveness(state, names)
        });
        Ok(SentMessage { id: sent.id.clone(), recipients, is_double: false })
    }

    /// Receives the unread messages whose texts can be read. It is an error if none of the texts can be read.
    pub async fn receive(
        &mut self,
        method: DeliveryMethod,
        pick: Pick,
    ) -> Result<Vec<LoadedMessage>, BusError> {
        self.receive_into(usize::MAX, method, pick).await
    }

    /// Receives unread messages for an answer with room for this many bytes.
    pub async fn receive_into(
        &mut self,
        room: usize,
        method: DeliveryMethod,
        pick: Pick,
    ) -> Result<Vec<LoadedMessage>, BusError> {
        let (bus, session) = (self.membership.bus().clone(), self.membership.session());
        bus.refresh()?;
        let mut readable = bus.readable(session, &pick, &self.proven());
        readable.fit(room);
        if readable.is_empty() {
            return readable.failed.map_or(Ok(Vec::new()), Err);
        }
        let pick = readable.pick(pick);
        self.holds = true;
        let take = Operation::Take { session, call: self.id, method, pick };
        if let Err(error) = self.ask(take).await {
            // The delivery may be on the bus although its messages are not shown.
            self.abandon_delivery().await;
            return Err(error);
        }
        Ok(bus.look(|state| readable.delivered(state, session, self.id)))
    }

    /// Requeues messages that this call may have received but does not show, and continues under another id: however the call ends,
    /// those messages do not count as shown.
    async fn abandon_delivery(&mut self) {
        let id = std::mem::replace(&mut self.id, random_ids::call());
        if let Err(error) = requeue(&self.membership, id).await {
            // The deadline of the delivery will requeue them.
            tracing::debug!("failed to requeue messages that were not shown: {error}");
        }
    }

    /// Reads the message that was delivered to the wait of this call.
    fn delivered(&self) -> Result<Option<LoadedMessage>, BusError> {
        let bus = self.membership.bus();
        let in_flight: Option<Message> = bus.look(|state| {
            let in_flight = state.in_flight_to(self.membership.session(), self.id);
            in_flight.into_iter().next().cloned()
        });
        let read = |message| bus.load_message(message, 0, self.membership.text_room());
        in_flight.map(read).transpose()
    }

    /// Waits for a message. After a dropped future, [`Call::requeue`] or the drop of the call ends the wait.
    pub async fn wait(
        &mut self,
        from: Option<Name>,
        request: Option<RequestId>,
        timeout: Duration,
    ) -> Result<Waited, BusError> {
        let deadline = Instant::now() + timeout;
        let mut changes = self.membership.bus().changes();
        let timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        self.holds = true;
        let in_turn = self.steered()?;
        let wait = Operation::Wait { call: self.id, from, request, timeout_ms };
        let receipt = self.ask(wait.clone()).await?;
        let begins = |event: &Event| match event {
            Event::WaitStarted { call, .. } | Event::MessageHanded { call, .. } => *call == self.id,
            _ => false,
        };
        // Other messages were requeued at their deadline, and were in no turn.
        let is_requeued = |event: &Event| matches!(event, Event::MessageReturned { call, .. } if in_turn.contains(call));
        if receipt.events.iter().any(is_requeued)
            && let Some(message) = self.delivered()?
        {
            return Ok(Waited::AlsoInTurn(Box::new(message)));
        }
        // Nor does it begin later: some agents leave such a wait in the background, and it would receive the next message.
        if timeout_ms > 0 && !receipt.events.iter().any(begins) {
            return Ok(Waited::InTurn);
        }
        loop {
            // In this order: a wait that has ended without a message will not get one later.
            let (waits, missed, live) = self.membership.bus().look(|state| {
                let session = self.membership.session();
                (
                    state.waits(session, self.id),
                    state.has_message_for_wait(session, self.id),
                    state.session(session).is_some(),
                )
            });
            if missed {
                // More sessions wait for the message than its sender's append could serve.
                self.ask(wait.clone()).await?;
                continue;
            }
            if let Some(message) = self.delivered()? {
                return Ok(Waited::Message(Box::new(message)));
            }
            if !live {
                return Err(Refusal::Left.into());
            }
            if !waits {
                return Ok(if timeout_ms == 0 { Waited::TimedOut } else { Waited::Ended });
            }
            if tokio::time::timeout_at(deadline, changes.changed()).await.is_err() {
                return self.end_wait().await;
            }
        }
    }

    /// Returns the calls with messages that are in the turn of the session.
    fn steered(&self) -> Result<Vec<CallId>, BusError> {
        let (bus, session) = (self.membership.bus(), self.membership.session());
        bus.refresh()?;
        Ok(bus.look(|state| state.calls_in_flight_by(session, DeliveryMethod::Steer)))
    }

    /// Ends the wait at its deadline, unless a message has just come.
    async fn end_wait(&mut self) -> Result<Waited, BusError> {
        match self.ask(Operation::EndWait { call: self.id }).await {
            Ok(_) => Ok(Waited::TimedOut),
            Err(BusError::Refused(Refusal::AlreadyDelivered)) => match self.delivered()? {
                Some(message) => Ok(Waited::Message(Box::new(message))),
                None => Ok(Waited::TimedOut),
            },
            Err(error) => Err(error),
        }
    }

    /// Opens a request.
    pub async fn open_request(
        &mut self,
        description: String,
        context: Option<String>,
        nudge: Duration,
        ttl: Duration,
    ) -> Result<RequestId, BusError> {
        let description = Bus::body(description);
        let context = context.map(Bus::body);
        let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let receipt = self
            .ask(Operation::Open { description, context, nudge_ms: ms(nudge), ttl_ms: ms(ttl) })
            .await?;
        let opened = receipt.events.iter().find_map(|event| match event {
            Event::RequestOpened(opened) => Some(opened.id.clone()),
            _ => None,
        });
        opened.ok_or(BusError::Closed)
    }

    /// Receives the notice of a task's end, because the answer of this call contains the result.
    pub async fn receive_notice(&mut self, task: TaskId) -> Result<(), BusError> {
        self.holds = true;
        let take = Operation::TakeNotice(self.id, task);
        self.ask(take).await.map(drop)
    }

    /// Claims a request. Losing is a value. A claim whose answer does not reach the client is released, unless the session held it
    /// before.
    pub async fn claim(&mut self, id: RequestId) -> Result<Claimed, BusError> {
        let (bus, session) = (self.membership.bus(), self.membership.session());
        let claims = self.membership.claims();
        let _turn = claims.turn().await;
        bus.refresh()?;
        let is_held = bus.look(|state| {
            let is_held = state.claimed_by(session).any(|held| held.id == id);
            // An earlier endpoint may have claimed it without its agent's knowledge.
            is_held && !state.is_claim_unheard(session, &id)
        });
        let depends_on_this = claims.begin(&id, self.id, is_held);
        self.claimed = depends_on_this.then(|| id.clone());
        let outcome = self.ask(Operation::Claim(id.clone(), self.id)).await;
        if matches!(outcome, Err(BusError::Refused(_))) {
            self.claimed = None;
            claims.end(&id, self.id);
        }
        let found = || -> Result<Request, BusError> {
            let request = self.membership.bus().find_request(&id)?;
            request.ok_or_else(|| Refusal::UnknownRequest { id: id.clone() }.into())
        };
        match outcome {
            Ok(_) => Ok(Claimed::Won(found()?)),
            Err(BusError::Refused(lost @ Refusal::ClaimLost { .. })) => {
                let mut request = found()?;
                // An overdue event may have decided it, and not be on the bus yet.
                if let Refusal::ClaimLost { status, .. } = &lost
                    && request.status == RequestStatus::Open
                {
                    request.status = *status;
                }
                let reason = lost.to_string();
                Ok(Claimed::Lost { request, reason })
            }
            // It may have ended so long ago that the state has forgotten it.
            Err(BusError::Refused(Refusal::UnknownRequest { .. })) => {
                let request = found()?;
                let by = request.owner.as_ref().map(|owner| owner.by.clone());
                let (id, status) = (id.clone(), request.status);
                let reason = Refusal::ClaimLost { id, status, by }.to_string();
                Ok(Claimed::Lost { request, reason })
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the calls whose answers this one proves to be read, unless the bus knows that already.
    fn proven(&self) -> Vec<CallId> {
        self.received.iter().map(|answered| answered.call).collect()
    }

    /// Notes that a caller in this process has the answer.
    pub async fn answered(self) {
        self.answered_by(Answer::given()).await;
    }

    /// Notes the answer of this call, which may still be on its way. Returns whether anything depends on it: then the caller reports
    /// its fate to [`Membership::written`] or [`Membership::unanswered`].
    pub async fn answered_by(mut self, answer: Answer) -> bool {
        if !self.received.is_empty() {
            // If this fails, those messages are merely offered again.
            let _ = self.ask(Operation::Received).await;
        }
        self.note_activity().await;
        let holds =
            self.membership.bus().look(|state| state.holds(self.membership.session(), self.id));
        let claimed = self.claimed.take();
        let has_dependents = holds || claimed.is_some();
        if has_dependents {
            let call = self.id;
            self.membership.note_answered([Answered { call, answer, claimed }]);
        }
        self.holds = false;
        has_dependents
    }

    /// Requeues the messages of this call, and ends its wait: its answer will not be read.
    pub async fn requeue(mut self) -> Result<(), BusError> {
        let outcome = requeue(&self.membership, self.id).await;
        // Not earlier: if this future is dropped halfway, the drop of the call continues.
        self.holds = false;
        let released = self.membership.release(self.id, self.claimed.clone()).await;
        self.claimed = None;
        outcome.and(released)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.membership.note_answered(std::mem::take(&mut self.received));
        let claimed = self.claimed.take();
        if !self.holds && claimed.is_none() {
            return;
        }
        let (membership, id) = (self.membership.clone(), self.id);
        // Outside of a runtime the process is ending, and with it the session.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let requeued = requeue(&membership, id).await;
                if let Err(error) = requeued.and(membership.release(id, claimed).await) {
                    tracing::debug!("failed to requeue the messages of a dropped call: {error}");
                }
            });
        }
    }
}

async fn requeue(membership: &Membership, call: CallId) -> Result<(), BusError> {
    match membership.ask(Operation::EndWait { call }).await {
        Ok(_) => Ok(()),
        Err(BusError::Refused(Refusal::AlreadyDelivered)) => membership
            .ask(Operation::Settle { session: membership.session(), call, seen: false })
            .await
            .map(drop),
        Err(error) => Err(error),
    }
}

fn as_sent(event: &Event) -> Option<&MessageSent> {
    match event {
        Event::MessageSent(sent) if matches!(sent.from, Author::Member(_)) => Some(sent),
        _ => None,
    }
}

mod again;
/// Says of each member whether it is live.
fn with_liveness(state: &State, names: impl IntoIterator<Item = Name>) -> Vec<(Name, bool)> {
    let with = |name: Name| (state.live(&name).is_some(), name);
    names.into_iter().map(with).map(|(live, name)| (name, live)).collect()
}

#[cfg(test)]
mod tests;
