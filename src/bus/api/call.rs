//! One tool call: the operations of a member while it lasts, and the messages that it receives.
//!
//! The messages of a call count as seen when the same session calls again and its client had the answer. A cancelled call requeues
//! them. So a call ends in [`Call::answered`] or [`Call::requeue`]; dropping a call requeues too.

pub mod acknowledge;
mod again;
mod ask_and_claim;
pub mod outgoing;
pub mod push;
mod sent_message;
pub mod vain_wait;

use std::time::Duration;

use tokio::time::Instant;

use self::outgoing::Outgoing;
use self::vain_wait::NoAnswer;
use super::answer_receipt::Answer;
use super::bus::Bus;
use super::membership::{Answered, Membership};
use super::message_text::LoadedMessage;
use super::unheard_claims::Claimable;
use crate::bus::error::BusError;
use crate::bus::event::Event;
use crate::bus::rules::{Operation, Pick, Refusal};
use crate::bus::shared::Receipt;
use crate::bus::state::{Message, Request};
use crate::domain::ids::{CallId, MessageId, RequestId, TaskId};
use crate::domain::messaging::{DeliveryMethod, MessageKind, Priority};
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
    /// What it has claimed, or may have.
    claimed: Option<Claimable>,
}

/// A message that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentMessage {
    pub id: MessageId,
    /// Its recipients, and whether each is live.
    pub recipients: Vec<(Name, bool)>,
    /// Whether it was sent a moment ago, and this is the same again.
    pub is_double: bool,
    /// Whether it waits for somebody who fits its address.
    pub is_queued: bool,
    /// Those of them that got a copy because the text mentions them.
    pub mentions: Vec<Name>,
    /// The request that it opened: work for a group.
    pub request: Option<RequestId>,
}

/// What a call waits for: any message, unless it says more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitFor {
    /// Only from this member.
    pub from: Option<Name>,
    /// Only about this request.
    pub request: Option<RequestId>,
    /// Only an answer to this message of the member's own.
    pub reply_to: Option<MessageId>,
}

/// How a wait ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waited {
    Message(Box<LoadedMessage>),
    /// No message came in time.
    TimedOut,
    /// The session stops.
    Ended,
    /// Nobody will give the answer that it waits for.
    NoAnswer(NoAnswer),
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
            if let Some(claimed) = &one.claimed {
                self.claims().end(claimed, one.call);
            }
        }
        Call::new(self.clone(), received)
    }
}

impl Call {
    pub(super) fn new(membership: Membership, received: Vec<Answered>) -> Self {
        Self { membership, id: random_ids::call(), received, holds: false, claimed: None }
    }

    pub(super) fn set_id(&mut self, id: CallId) {
        self.id = id;
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
        if let Some(id) = self.sent_on_in(&receipt) {
            return Ok(Some(self.sent_before(id)));
        }
        match self.sent_in(&receipt, &[MessageKind::Broadcast]) {
            Ok(sent) => Ok(Some(sent)),
            Err(_) => Ok(None),
        }
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

    /// Reads the message that was delivered to the wait of this call. `returned` are those that had been delivered before.
    fn delivered(&self, returned: &[MessageId]) -> Result<Option<LoadedMessage>, BusError> {
        let bus = self.membership.bus();
        let in_flight: Option<Message> = bus.look(|state| {
            let in_flight = state.in_flight_to(self.membership.session(), self.id);
            in_flight.into_iter().next().cloned()
        });
        let read = |message| {
            bus.load_message(message, self.membership.name(), 0, self.membership.text_room())
        };
        let is_again = in_flight.as_ref().is_some_and(|message| {
            let (name, now) = (self.membership.name(), Some(self.id));
            returned.contains(&message.id) || bus.was_given_before(message, name, now)
        });
        let read = in_flight.map(read).transpose()?;
        Ok(read.map(|loaded| LoadedMessage { is_again, ..loaded }))
    }

    /// Waits for a message. After a dropped future, [`Call::requeue`] or the drop of the call ends the wait.
    pub async fn wait(&mut self, what: WaitFor, timeout: Duration) -> Result<Waited, BusError> {
        let deadline = Instant::now() + timeout;
        let mut changes = self.membership.bus().changes();
        let timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        self.holds = true;
        let in_turn = self.steered()?;
        let returned = self.returned();
        let WaitFor { from, request, reply_to } = what.clone();
        let wait = Operation::Wait { call: self.id, from, request, reply_to, timeout_ms };
        let receipt = match self.begin_wait(&wait).await {
            Err(error) => return self.refused(error, &what).await,
            Ok(receipt) => receipt,
        };
        let me = self.id;
        let is_delivered =
            |event: &Event| matches!(event, Event::MessageHanded { call, .. } if *call == me);
        let begins = |event: &Event| {
            is_delivered(event) || matches!(event, Event::WaitStarted { call, .. } if *call == me)
        };
        // Other messages were requeued at their deadline, and were in no turn.
        let is_requeued = |event: &Event| matches!(event, Event::MessageReturned { call, .. } if in_turn.contains(call));
        if receipt.events.iter().any(is_requeued)
            && let Some(message) = self.delivered(&returned)?
        {
            return Ok(Waited::AlsoInTurn(Box::new(message)));
        }
        // Nor does it begin later: some agents leave such a wait in the background, and it would receive the next message.
        if timeout_ms > 0 && !receipt.events.iter().any(begins) {
            return Ok(Waited::InTurn);
        }
        if !receipt.events.iter().any(is_delivered)
            && let Some(superseded) = self.end_if_superseded(&what, &returned).await?
        {
            return Ok(superseded);
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
                if let Err(error) = self.ask(wait.clone()).await {
                    return self.refused(error, &what).await;
                }
                continue;
            }
            if let Some(message) = self.delivered(&returned)? {
                return Ok(Waited::Message(Box::new(message)));
            }
            if !live {
                return Err(Refusal::Left.into());
            }
            if !waits && let Some(waited) = self.vain(&what).await? {
                return Ok(waited);
            }
            if !waits {
                return Ok(if timeout_ms == 0 { Waited::TimedOut } else { Waited::Ended });
            }
            if tokio::time::timeout_at(deadline, changes.changed()).await.is_err() {
                return self.end_wait(&returned).await;
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
    async fn end_wait(&mut self, returned: &[MessageId]) -> Result<Waited, BusError> {
        match self.ask(Operation::EndWait { call: self.id }).await {
            Ok(_) => Ok(Waited::TimedOut),
            Err(BusError::Refused(Refusal::AlreadyDelivered)) => match self.delivered(returned)? {
                Some(message) => Ok(Waited::Message(Box::new(message))),
                None => Ok(Waited::TimedOut),
            },
            Err(error) => Err(error),
        }
    }

    /// Receives the notice of a task's end, because the answer of this call contains the result.
    pub async fn receive_notice(&mut self, task: TaskId) -> Result<(), BusError> {
        self.holds = true;
        let take = Operation::TakeNotice(self.id, task);
        self.ask(take).await.map(drop)
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

#[cfg(test)]
mod tests;
