//! The disagreements, as plainly as possible: a thread has one, of two members, which goes on step by step and ends once. The user alone
//! decides it after that, as often as they like.

use std::collections::BTreeMap;

use crate::bus::event::Event;
use crate::bus::state::{Due, State};
use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::messaging::{Author, ConflictStep};
use crate::domain::name::Name;

struct Dispute {
    parties: Vec<Name>,
    step: ConflictStep,
    is_over: bool,
    /// The last word of the user, after its end.
    overruled: Option<MessageId>,
}

#[derive(Default)]
pub(in crate::bus::model) struct ConflictLedger(BTreeMap<MessageId, Dispute>);

impl ConflictLedger {
    /// Records an event, and checks that it may follow those before it.
    pub(in crate::bus::model) fn enter(&mut self, event: &Event) {
        match event {
            Event::ConflictOpened(opened) => {
                let parties: Vec<_> = opened.parties.iter().map(|party| party.by.clone()).collect();
                assert!(parties.len() == 2 && parties[0] != parties[1]);
                let step = ConflictStep::Round(1);
                let dispute = Dispute { parties, step, is_over: false, overruled: None };
                assert!(self.0.insert(opened.thread.clone(), dispute).is_none(), "once a thread");
            }
            Event::ConflictMoved(moved) => {
                let dispute = self.open(&moved.thread);
                let may = match (&dispute.step, &moved.to) {
                    (ConflictStep::Round(one), ConflictStep::Round(next)) => {
                        *next == one + 1 && *next <= limits::CONFLICT_ROUNDS
                    }
                    (ConflictStep::Round(_), ConflictStep::Arbiter(arbiter)) => {
                        !dispute.parties.contains(arbiter)
                    }
                    (ConflictStep::Human, _) => false,
                    (_, ConflictStep::Human) => true,
                    _ => false,
                };
                assert!(may, "{:?} after {:?}", moved.to, dispute.step);
                dispute.step = moved.to.clone();
            }
            Event::ConflictResolved(resolved) => self.open(&resolved.thread).is_over = true,
            Event::ConflictOverruled(overruled) => {
                let dispute = self.0.get_mut(&overruled.thread).expect("it was opened");
                assert!(dispute.is_over, "the user decides an open one as anybody does");
                dispute.overruled = Some(overruled.message.clone());
            }
            _ => {}
        }
    }

    fn open(&mut self, thread: &MessageId) -> &mut Dispute {
        let dispute = self.0.get_mut(thread).expect("it was opened");
        assert!(!dispute.is_over, "it ends once");
        dispute
    }

    pub(in crate::bus::model) fn check(&self, state: &State) {
        for (thread, dispute) in &self.0 {
            assert_eq!(state.timers.runs(&Due::Conflict(thread.clone())), !dispute.is_over);
            if let Some(conflict) = state.conflict(thread) {
                assert_eq!(conflict.is_open(), !dispute.is_over);
                assert_eq!(conflict.step, dispute.step);
                let end = conflict.end.as_ref();
                if let Some(word) = &dispute.overruled {
                    let holds = end.is_some_and(|end| {
                        end.by == Author::Human && end.message.as_ref() == Some(word)
                    });
                    assert!(holds, "the last word of the user holds: {end:?}");
                }
            }
        }
    }
}
