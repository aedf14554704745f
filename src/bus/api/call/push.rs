//! Pushes into the session of a client that confirms nothing. Each carries one message, so that a name of the message proves the push and
//! nothing else.

use std::collections::BTreeSet;

use crate::bus::api::call::Call;
use crate::bus::api::membership::Membership;
use crate::bus::api::message_text::LoadedMessage;
use crate::bus::error::BusError;
use crate::bus::rules::{Operation, Pick, is_proven_by_name};
use crate::bus::state::{Delivery, Message};
use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::messaging::{DeliveryMethod, Priority};

/// How many times as much may be pushed and unproven before an urgent message waits.
const URGENT_SHARE: usize = 4;

/// The messages that one session has pushed, or has tried to.
#[derive(Debug, Default)]
pub struct Pushed {
    ids: BTreeSet<MessageId>,
}

/// A message that is being pushed. It ends in [`Push::sent`]; dropping it requeues the message.
pub struct Push {
    call: Call,
    pub message: LoadedMessage,
}

impl Membership {
    /// Receives the next message to push, of as many bytes of text at most; none while as much is pushed and unproven as a model should
    /// get at once. Each message is pushed once: what nothing proves is left to the next method, and so is what an earlier session got
    /// without proof.
    pub async fn next_push(
        &self,
        pushed: &mut Pushed,
        bytes: usize,
    ) -> Result<Option<Push>, BusError> {
        self.bus().refresh()?;
        while let Some((id, is_urgent)) = self.unpushed(pushed)
            && self.has_room_for_push(bytes, is_urgent)
        {
            pushed.ids.insert(id.clone());
            // Not by `Membership::call`, which proves the answers before it.
            let mut call = Call::new(self.clone(), Vec::new());
            let pick = Pick { only: Some(vec![id.clone()]), ..Pick::any(1, bytes, bytes) };
            match call.receive(DeliveryMethod::Channel, pick).await {
                Ok(received) => {
                    // None if another call was faster.
                    if let Some(message) = received.into_iter().next() {
                        return Ok(Some(Push { call, message }));
                    }
                }
                // It comes by the next method.
                Err(error) => tracing::debug!("failed to take {id} to push it: {error}"),
            }
        }
        Ok(None)
    }

    /// Says whether the pushes that nothing has proven yet leave room for another one. What is urgent waits for little of that.
    fn has_room_for_push(&self, bytes: usize, is_urgent: bool) -> bool {
        let session = self.session();
        let unproven: usize = self.bus().look(|state| {
            let calls = state.calls_in_flight_by(session, DeliveryMethod::Channel).into_iter();
            let messages = calls.flat_map(|call| state.in_flight_to(session, call));
            let length = |message: &Message| {
                usize::try_from(message.bytes()).unwrap_or(usize::MAX).min(bytes)
            };
            messages.map(|message| limits::HEADER_BYTES + length(message)).sum()
        });
        let share = if is_urgent { URGENT_SHARE } else { 1 };
        unproven < limits::PUSHED_BYTES.saturating_mul(share)
    }

    /// Returns the first unread message that this session may still push, and whether it is urgent. News of who comes and goes is not
    /// worth a turn.
    fn unpushed(&self, pushed: &mut Pushed) -> Option<(MessageId, bool)> {
        let (name, session) = (self.name(), self.session());
        self.bus().look(|state| {
            pushed.ids.retain(|id| {
                let delivery = state.message(id).and_then(|message| message.delivery(name));
                delivery.is_some_and(|delivery| !delivery.is_final())
            });
            let is_due = |message: &&Message| match message.delivery(name) {
                Some(Delivery::Unread { last }) => {
                    last.is_none_or(|(holder, _)| holder == session)
                        && !pushed.ids.contains(&message.id)
                }
                _ => false,
            };
            let mut due = state.unread(name).filter(|message| !message.is_presence());
            let next = due.find(is_due)?;
            Some((next.id.clone(), next.priority == Priority::Urgent))
        })
    }
}

impl Call {
    /// Notes that the caller has named a message by its id, which proves one that was pushed. Writes nothing about others.
    pub async fn name_message(&mut self, id: &MessageId) -> Result<(), BusError> {
        let (bus, session) = (self.membership().bus().clone(), self.membership().session());
        if bus.look(|state| is_proven_by_name(state, session, id)) {
            self.ask(Operation::Named(id.clone())).await?;
        }
        Ok(())
    }
}

impl Push {
    /// Notes that the message was written to the client. It stays in flight until the model names it, or its time is over.
    pub fn sent(mut self) {
        self.call.holds = false;
    }

    /// Requeues the message, which was not written.
    pub async fn requeue(self) -> Result<(), BusError> {
        self.call.requeue().await
    }
}
