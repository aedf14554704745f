//! Who owns each lane, as plainly as possible: the first of those that do it, until it leaves or gives it up.

use std::collections::BTreeMap;

use crate::bus::event::{Event, LaneMoved};
use crate::bus::state::State;
use crate::domain::ids::SessionId;

/// The sessions that do each lane, in the order in which they said so.
#[derive(Default)]
pub(super) struct LaneLedger(BTreeMap<String, Vec<SessionId>>);

impl LaneLedger {
    /// Records an event, and checks that a lane is claimed only while nobody owns it.
    pub(super) fn enter(&mut self, event: &Event) {
        match event {
            Event::MemberDescribed(described) => {
                if let Some(lane) = &described.traits.lane {
                    self.doing(lane.as_str()).push(described.session);
                }
            }
            Event::LaneClaimed(LaneMoved { session, lane }) => {
                let doing = self.doing(lane.as_str());
                assert!(doing.is_empty(), "@{lane} has an owner already");
                doing.push(*session);
            }
            Event::LaneReleased(LaneMoved { session, lane }) => {
                let doing = self.doing(lane.as_str());
                assert!(doing.contains(session), "who releases a lane does it");
                doing.retain(|one| one != session);
            }
            Event::MemberLeft { session, .. } => {
                for doing in self.0.values_mut() {
                    doing.retain(|one| one != session);
                }
            }
            _ => {}
        }
    }

    fn doing(&mut self, lane: &str) -> &mut Vec<SessionId> {
        self.0.entry(lane.to_owned()).or_default()
    }

    pub(super) fn check(&self, state: &State) {
        for (lane, doing) in &self.0 {
            let owner = state.lane_owner(lane).map(|owner| owner.id);
            assert_eq!(owner, doing.first().copied(), "@{lane}");
        }
    }
}
