//! Who owns each lane, as plainly as possible: of those that do it and respond, the first that has claimed it, else the first; and where
//! none responds, the same of all.

use std::collections::{BTreeMap, BTreeSet};

use crate::bus::event::{Event, LaneMoved};
use crate::bus::state::State;
use crate::domain::ids::SessionId;

/// The sessions that do each lane, in the order in which they said so, each with whether it has claimed it.
#[derive(Default)]
pub(super) struct LaneLedger {
    doing: BTreeMap<String, Vec<(SessionId, bool)>>,
    hung: BTreeSet<SessionId>,
}

impl LaneLedger {
    /// Records an event, and checks that a lane is claimed only while nobody who responds owns it.
    pub(super) fn enter(&mut self, event: &Event) {
        match event {
            Event::MemberDescribed(described) => {
                if let Some(lane) = &described.traits.lane {
                    self.doing(lane.as_str()).push((described.session, false));
                }
            }
            Event::LaneClaimed(LaneMoved { session, lane }) => {
                let owner = self.owner(lane.as_str());
                let may = owner.is_none_or(|owner| owner == *session || self.hung.contains(&owner));
                assert!(may, "@{lane} has an owner already");
                let doing = self.doing(lane.as_str());
                assert!(!doing.iter().any(|(_, claimed)| *claimed), "@{lane} is claimed twice");
                doing.push((*session, true));
            }
            Event::LaneReleased(LaneMoved { session, lane }) => {
                let doing = self.doing(lane.as_str());
                assert!(doing.iter().any(|(one, _)| one == session), "who releases a lane does it");
                doing.retain(|(one, _)| one != session);
            }
            Event::MemberHung { session } => {
                self.hung.insert(*session);
            }
            Event::MemberBack { session } => {
                self.hung.remove(session);
            }
            Event::MemberLeft { session, .. } => {
                self.hung.remove(session);
                for doing in self.doing.values_mut() {
                    doing.retain(|(one, _)| one != session);
                }
            }
            _ => {}
        }
    }

    fn doing(&mut self, lane: &str) -> &mut Vec<(SessionId, bool)> {
        self.doing.entry(lane.to_owned()).or_default()
    }

    fn owner(&self, lane: &str) -> Option<SessionId> {
        let doing = self.doing.get(lane).into_iter().flatten();
        let first = doing.min_by_key(|(one, claimed)| (self.hung.contains(one), !claimed));
        first.map(|(one, _)| *one)
    }

    pub(super) fn check(&self, state: &State) {
        for lane in self.doing.keys() {
            let owner = state.lane_owner(lane).map(|owner| owner.id);
            assert_eq!(owner, self.owner(lane), "@{lane}");
        }
    }
}
