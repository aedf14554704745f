//! How acknowledgements and resolved threads change the state.

use crate::bus::event::{MessageAcknowledged, MessageSent, ThreadResolved};
use crate::bus::state::{Delivery, EnvelopeHeader, State};

impl State {
    /// Notes what a member says has become of messages. One that was unread or in flight ends by it.
    pub(in crate::bus::state) fn message_acknowledged(
        &mut self,
        acknowledged: &MessageAcknowledged,
    ) {
        let MessageAcknowledged { ids, member, status, .. } = acknowledged;
        for id in ids {
            let Some(message) = self.messages.get_mut(id) else {
                continue;
            };
            let Some(delivery) = message.deliveries.get_mut(member) else {
                continue;
            };
            if !delivery.goes_on_to(*status) {
                continue;
            }
            let outcome = Delivery::Acknowledged(*status);
            if delivery.is_final() {
                *delivery = outcome;
            } else {
                self.settle(id, member, outcome);
            }
        }
        self.forget_member_if_idle(member);
    }

    /// Notes that threads are resolved. What is said of them stays in the log.
    pub(in crate::bus::state) fn thread_resolved(&mut self, resolved: &ThreadResolved) {
        for id in &resolved.threads {
            if let Some(first) = self.messages.get_mut(id) {
                first.resolved = true;
                let more = first.more.get_or_insert_default();
                more.resolved_by = Some(resolved.by.clone());
            }
        }
    }

    /// Reopens the thread in which a message was sent.
    pub(in crate::bus::state) fn reopen_thread(&mut self, sent: &MessageSent) {
        if let Some(first) = sent.reopens().and_then(|thread| self.messages.get_mut(thread)) {
            first.resolved = false;
            if let Some(more) = &mut first.more {
                more.resolved_by = None;
            }
            first.more.take_if(|more| **more == EnvelopeHeader::default());
        }
    }
}
