//! Whom a process looks at when it looks around: whether they are dead, and whether their hearts beat.
//!
//! In a small team everybody looks at everybody. In one of hundreds that would be most of what the machine does: one process looks at
//! all of them each second, and the others at that one, and by turns at some of the rest. So a death is seen within a second, that
//! of whoever looks too; while that one is stopped, within [`SLICES`] looks.

use crate::bus::state::State;
use crate::domain::ids::SessionId;

/// Members up to which everybody looks at all: that takes well below a tenth of a millisecond.
const FEW: usize = 16;

/// Looks after which each process has looked at everybody, whoever else does.
const SLICES: usize = 10;

/// Whom to look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MembersToCheck {
    /// Whose presence.
    pub(crate) presences: Vec<SessionId>,
    /// Whose heartbeat.
    pub(crate) heartbeats: Vec<SessionId>,
}

/// Whose turn it is to be looked at.
#[derive(Debug, Default)]
pub(crate) struct CheckSchedule {
    turn: usize,
}

impl CheckSchedule {
    /// Returns whom a process looks at now that holds some sessions itself.
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
