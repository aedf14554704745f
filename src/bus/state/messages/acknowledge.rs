//! How an acknowledgement changes the state.

use crate::bus::event::MessageAcknowledged;
use crate::bus::state::{Delivery, State};

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
}
