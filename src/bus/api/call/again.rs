//! What happens again in a call: a sign of life after a while, a message that was just sent, one that was delivered before.

use std::time::Duration;

use super::sent_message::with_liveness;
use super::{Call, SentMessage};
use crate::bus::event::Event;
use crate::bus::rules::Operation;
use crate::bus::shared::Receipt;
use crate::domain::ids::MessageId;
use crate::domain::messaging::MessageKind;
use crate::domain::wait_times;

impl Call {
    /// Records that the session is active, if nothing that it wrote has shown that for a while: for a third of a lease of its claims at
    /// most, so that it is on record before its owner is reminded.
    pub(super) async fn note_activity(&mut self) {
        let (bus, session) = (self.membership.bus(), self.membership.session());
        let now = bus.now();
        let (last_ms, lease_ms) = bus.look(|state| {
            let (live, lease_ms) = (state.session(session), state.shortest_lease_ms(session));
            // What its bridge writes is no sign of an orchestrator, and of its claims only what counts as one.
            let last_ms = live.map(|live| match lease_ms {
                Some(_) => live.sign_ms(),
                None => state.last_deed_ms(live, now),
            });
            (last_ms, lease_ms)
        });
        let of_lease = lease_ms.map_or(Duration::MAX, |ms| Duration::from_millis(ms / 3));
        let every = wait_times::RECORD_SIGN_OF_LIFE.min(of_lease);
        let silent_ms = last_ms.and_then(|last_ms| u64::try_from(now.wall_ms - last_ms).ok());
        let is_due = silent_ms.is_some_and(|silent_ms| Duration::from_millis(silent_ms) >= every);
        if is_due && let Err(error) = self.ask(Operation::Stir(session)).await {
            tracing::debug!("failed to record the activity of {}: {error}", self.membership.name());
        }
    }

    /// Finds the broadcast of a moment ago that a command has delivered to more members.
    pub(super) fn sent_on_in(&self, receipt: &Receipt) -> Option<MessageId> {
        let addressed = receipt.events.iter().filter_map(|event| match event {
            Event::MessageAddressed { id, .. } => Some(id),
            _ => None,
        });
        self.membership.bus().look(|state| {
            let is_mine = |id: &&MessageId| {
                state.message(id).is_some_and(|message| {
                    message.kind == MessageKind::Broadcast
                        && message.from.member() == Some(self.membership.name())
                })
            };
            addressed.rev().find(is_mine).cloned()
        })
    }

    /// Returns the unread messages that were delivered before, without proof that they were read.
    pub(super) fn returned(&self) -> Vec<MessageId> {
        let name = self.membership.name();
        self.membership
            .bus()
            .look(|state| state.returned(name).map(|message| message.id.clone()).collect())
    }

    /// Describes a message that an interrupted call has sent, which this one repeats.
    pub fn sent_by_interrupted(&self, id: MessageId) -> SentMessage {
        SentMessage { is_double: false, ..self.sent_before(id) }
    }

    /// Describes a message of a moment ago, which this call has sent again.
    pub(super) fn sent_before(&self, id: MessageId) -> SentMessage {
        let recipients = self.membership.bus().look(|state| {
            let deliveries = state.message(&id).map(|message| message.deliveries.iter());
            let deliveries = deliveries.into_iter().flatten();
            let lasting = deliveries.filter(|(_, one)| !one.is_final() || one.is_seen());
            with_liveness(state, lasting.map(|(name, _)| name.clone()))
        });
        let is_queued = self.membership.bus().look(|state| state.is_queued(&id));
        let mentions = Vec::new();
        SentMessage { id, recipients, is_double: true, is_queued, mentions, request: None }
    }
}
