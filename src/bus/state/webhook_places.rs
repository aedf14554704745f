//! How far the webhooks of the users are: the seq of the last message that each got.

use crate::bus::state::State;
use crate::domain::limits;
use crate::domain::member::Label;

impl State {
    /// Returns the seq of the last message that a webhook got, or of the last one before its first.
    pub fn webhook_place(&self, name: &Label) -> Option<u64> {
        self.webhooks.get(name).copied()
    }

    pub(in crate::bus::state) fn webhook_sent(&mut self, name: &Label, seq: u64) {
        let place = self.webhooks.entry(name.clone()).or_default();
        *place = seq.max(*place);
        if self.webhooks.len() > limits::WEBHOOK_PLACES {
            let others = self.webhooks.iter().filter(|(other, _)| *other != name);
            let last = others.min_by_key(|(_, seq)| **seq).map(|(last, _)| last.clone());
            if let Some(last) = last {
                self.webhooks.remove(&last);
            }
        }
    }
}
