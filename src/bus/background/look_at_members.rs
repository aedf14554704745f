//! Which members a process checks each second: whether they are dead, and whether their heartbeats move.
//!
//! In a small team every process checks all members. In a team of hundreds that would be most of the machine's work: one process
//! checks all of them each second, and the others check that one, and by turns some of the rest. So a death is seen within a second,
//! also that of the process that checks all; while that one is stopped, within [`SLICES`] looks.

use crate::bus::state::State;
use crate::domain::ids::SessionId;

/// Members up to which every process checks all: that takes well below a tenth of a millisecond.
const FEW: usize = 16;

/// Looks after which each process has looked at all members, whether or not another does.
const SLICES: usize = 10;

/// Whom to look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MembersToCheck {
    /// The sessions whose presence to look at.
    pub(crate) presences: Vec<SessionId>,
    /// The sessions whose heartbeat to look at.
    pub(crate) heartbeats: Vec<SessionId>,
}

/// Which members to look at next.
#[derive(Debug, Default)]
pub(crate) struct CheckSchedule {
    turn: usize,
}

impl CheckSchedule {
    /// Returns the members that a process checks now, which holds some sessions itself.
    pub(crate) fn next(
        &mut self,
        state: &State,
        holds: impl Fn(SessionId) -> bool,
    ) -> MembersToCheck {
        self.turn = (self.turn + 1) % SLICES;
        let live: Vec<_> = state.session_ids().collect();
        let keeper = state.lookout();
        match keeper {
            Some(keeper) if live.len() > FEW && !holds(keeper) => {
                let slice = live.iter().enumerate();
                let slice =
                    slice.filter(|(number, id)| number % SLICES == self.turn && **id != keeper);
                let slice = slice.map(|(_, id)| *id);
                MembersToCheck {
                    presences: std::iter::once(keeper).chain(slice).collect(),
                    heartbeats: vec![keeper],
                }
            }
            _ => MembersToCheck { presences: live.clone(), heartbeats: live },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::bus::event::{Entry, Event, Joined};
    use crate::bus::storage::LogPosition;
    use crate::domain::ids::CommandId;
    use crate::domain::member::MemberKind;
    use crate::domain::name::Name;
    use crate::domain::time::Tick;

    fn id(number: usize) -> SessionId {
        SessionId(uuid::Uuid::from_u128(number as u128))
    }

    fn enter(state: &mut State, seq: usize, event: Event) {
        let entry = Entry {
            seq: seq as u64,
            ts: 1,
            tick: Tick { boot: 1, ms: 1 },
            id: CommandId(uuid::Uuid::from_u128(seq as u128)),
            by: None,
            events: vec![event],
        };
        state.apply(&entry, &[0], LogPosition::default());
    }

    /// An orchestrator and peers.
    fn team(members: usize) -> State {
        let mut state = State::default();
        for number in 1..=members {
            let joined = Joined {
                session: id(number),
                name: Name::parse(&format!("m{number}")).unwrap(),
                chosen: true,
                kind: if number == 3 { MemberKind::Orchestrator } else { MemberKind::Peer },
                model: None,
                roles: Vec::new(),
                pid: 1,
                client: None,
            };
            enter(&mut state, number, Event::MemberJoined(joined));
        }
        state
    }

    #[test]
    fn in_a_small_team_everybody_looks_at_all() {
        let state = team(FEW);
        let look = CheckSchedule::default().next(&state, |_| false);
        assert_eq!((look.presences.len(), look.heartbeats.len()), (FEW, FEW));
    }

    #[test]
    fn in_a_great_team_one_looks_at_all_and_the_others_at_that_one_and_by_turns_at_some() {
        let state = team(500);
        let keeper = CheckSchedule::default().next(&state, |session| session == id(3));
        assert_eq!((keeper.presences.len(), keeper.heartbeats.len()), (500, 500));

        let mut lookout = CheckSchedule::default();
        let mut seen = BTreeSet::new();
        for _ in 0..SLICES {
            let look = lookout.next(&state, |session| session == id(7));
            assert!(look.presences.len() <= 500 / SLICES + 1);
            assert!(look.presences.contains(&id(3)), "its death is seen at once");
            assert_eq!(look.heartbeats, [id(3)]);
            seen.extend(look.presences);
        }
        assert_eq!(seen.len(), 500);
    }

    #[test]
    fn who_looks_at_all_is_replaced_when_it_is_hung() {
        let mut state = team(500);
        enter(&mut state, 501, Event::MemberHung { session: id(3) });
        let look = CheckSchedule::default().next(&state, |session| session == id(1));
        assert_eq!(look.heartbeats.len(), 500, "so that it is seen to be back, too");
    }
}
