//! The messages between projects, as plainly as possible: what comes is there once, whoever brings it again; what goes is on its way until
//! it is there, or has ended, and is never both.

use std::collections::{BTreeMap, BTreeSet};

use crate::bus::event::{Event, MessageHeld, MessageRelayed};
use crate::bus::state::State;
use crate::domain::ids::MessageId;

#[derive(Default)]
pub(in crate::bus::model) struct CrossingLedger {
    /// The ids that the messages have from where they came.
    arrived: BTreeSet<MessageId>,
    on_the_way: BTreeSet<MessageId>,
    there: BTreeMap<MessageId, MessageId>,
}

impl CrossingLedger {
    /// Records an event, and checks that it may follow those before it.
    pub(in crate::bus::model) fn enter(&mut self, event: &Event) {
        match event {
            Event::MessageSent(sent) => {
                let origin = sent.more.as_ref().and_then(|more| more.origin.as_ref());
                assert_eq!(origin.is_some(), sent.from.elsewhere().is_some());
                if let Some(origin) = origin {
                    assert!(self.arrived.insert(origin.id.clone()), "{} is here twice", origin.id);
                }
                if sent.audience.elsewhere().is_some() {
                    assert!(sent.to.named().is_empty(), "nobody here gets it");
                    self.on_the_way.insert(sent.id.clone());
                }
            }
            Event::MessageRelayed(MessageRelayed { id, there, .. }) => {
                let before = self.there.insert(id.clone(), there.clone());
                assert_eq!(self.on_the_way.remove(id), before.is_none(), "it arrives once");
                assert!(before.is_none_or(|before| before == *there), "it is one message there");
            }
            Event::MessageHeld(MessageHeld { id, .. }) => {
                assert!(self.on_the_way.contains(id), "what is there or over is not held");
            }
            Event::MessageUnclaimed { id } => drop(self.on_the_way.remove(id)),
            _ => {}
        }
    }

    pub(in crate::bus::model) fn check(&self, state: &State) {
        let outbox = state.outbox().into_iter().map(|message| message.id.clone());
        assert_eq!(outbox.collect::<BTreeSet<_>>(), self.on_the_way);
        for (id, there) in &self.there {
            // What is long over is forgotten.
            if let Some(crossed) = state.crossed(id) {
                assert_eq!(crossed.there.as_ref(), Some(there));
            }
        }
        let mut arrived = state.other_projects().arrived.iter();
        assert!(arrived.all(|arrived| self.arrived.contains(&arrived.origin.id)));
    }
}
