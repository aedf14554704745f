//! Which members a process checks each second: whether they are dead, and whether their heartbeats move.
//!
//! In a small team every process checks all members. In a team of hundreds that would be most of the machine's work. There, one
//! process checks all members each second, and the others check that one and, in turns, some of the rest. So every death is seen
//! within a second, even that of the checking process; while it is stopped, within [`SLICES`] looks.

use crate::bus::state::State;
use crate::domain::ids::SessionId;
use crate::domain::member::HostId;

/// The largest team in which every process checks all members: that takes well below a tenth of a millisecond.
const FEW: usize = 16;

/// The number of looks after which each process has checked all members by itself.
const SLICES: usize = 10;

/// The members of one check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MembersToCheck {
    /// The sessions whose presence to check.
    pub(crate) presences: Vec<SessionId>,
    /// The sessions whose heartbeat to check.
    pub(crate) heartbeats: Vec<SessionId>,
}

/// Decides which members to check next.
#[derive(Debug, Default)]
pub(crate) struct CheckSchedule {
    turn: usize,
}

impl CheckSchedule {
    /// Returns the members that this process checks now. `holds` says which sessions are its own.
    pub(crate) fn next(
        &mut self,
        state: &State,
        here: Option<HostId>,
        holds: impl Fn(SessionId) -> bool,
    ) -> MembersToCheck {
        self.turn = (self.turn + 1) % SLICES;
        let live: Vec<_> = state.session_ids().collect();
        let checker = state.lookout(here);
        match checker {
            Some(checker) if live.len() > FEW && !holds(checker) => {
                let slice = live.iter().enumerate();
                let slice =
                    slice.filter(|(number, id)| number % SLICES == self.turn && **id != checker);
                let slice = slice.map(|(_, id)| *id);
                MembersToCheck {
                    presences: std::iter::once(checker).chain(slice).collect(),
                    heartbeats: vec![checker],
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
    fn in_a_small_team_every_process_checks_all_members() {
        let state = team(FEW);
        let look = CheckSchedule::default().next(&state, None, |_| false);
        assert_eq!((look.presences.len(), look.heartbeats.len()), (FEW, FEW));
    }

    #[test]
    fn in_a_large_team_one_process_checks_all_and_the_others_check_it_and_some_in_turns() {
        let state = team(500);
        let checker = CheckSchedule::default().next(&state, None, |session| session == id(3));
        assert_eq!((checker.presences.len(), checker.heartbeats.len()), (500, 500));

        let mut schedule = CheckSchedule::default();
        let mut seen = BTreeSet::new();
        for _ in 0..SLICES {
            let look = schedule.next(&state, None, |session| session == id(7));
            assert!(look.presences.len() <= 500 / SLICES + 1);
            assert!(look.presences.contains(&id(3)), "its death is seen at once");
            assert_eq!(look.heartbeats, [id(3)]);
            seen.extend(look.presences);
        }
        assert_eq!(seen.len(), 500);
    }

    #[test]
    fn a_hung_checker_is_replaced() {
        let mut state = team(500);
        enter(&mut state, 501, Event::MemberHung { session: id(3) });
        let look = CheckSchedule::default().next(&state, None, |session| session == id(1));
        assert_eq!(look.heartbeats.len(), 500, "so that its return is seen, too");
    }
}
