//! Agents that have ended together, because their bridge has: of many, one problem counts them.

use std::collections::BTreeMap;

use crate::bus::state::{EndedSession, State};
use crate::domain::ids::SessionId;
use crate::domain::member::{Departure, MemberKind};
use crate::domain::text::counted::counted;
use crate::view::MemberRow;

/// So many have a row each, which says what the agent was doing.
const WITH_ROWS: usize = 3;

/// So many are named where they are counted.
const NAMED: usize = 3;

/// Agents that have ended with one bridge.
pub(in crate::view) struct EndedTogether {
    /// The session of the bridge, if it is known.
    pub(in crate::view) bridge: Option<SessionId>,
    /// The agents, by their names.
    pub(in crate::view) agents: BTreeMap<String, SessionId>,
}

impl EndedTogether {
    /// Says how many they are.
    pub(in crate::view) fn counted(&self) -> String {
        counted(self.agents.len(), "agent")
    }

    /// Names the first of them.
    pub(in crate::view) fn first_names(&self) -> String {
        let names: Vec<_> = self.agents.keys().take(NAMED).map(String::as_str).collect();
        let more = self.agents.len().saturating_sub(NAMED);
        format!("{} and {more} more", names.join(", "))
    }
}

/// Returns the many agents of each bridge whose processes have ended, which no session has recorded yet.
pub(in crate::view) fn gone_together(state: &State, members: &[MemberRow]) -> Vec<EndedTogether> {
    let gone = members.iter().filter(|row| row.state == "gone");
    let of_bridge = gone.filter_map(|row| {
        let owner = state.session(row.session)?.owner?;
        Some((Some(owner), row.name.clone(), row.session))
    });
    many(of_bridge)
}

/// Returns the many agents of each bridge that was found dead, of those whose end is a problem. Who finds it records its end, and then
/// that of its agents.
pub(in crate::view) fn died_together(
    state: &State,
    crashed: &[&EndedSession],
) -> Vec<EndedTogether> {
    let mut bridge = None;
    let dead = state.departed().filter(|ended| ended.departure == Departure::Dead);
    let of_bridge = dead.filter_map(|ended| {
        if ended.kind == MemberKind::Orchestrator {
            bridge = Some(ended.session);
        }
        let is_crashed = || crashed.iter().any(|one| one.session == ended.session);
        let is_one = ended.kind == MemberKind::Agent && is_crashed();
        is_one.then(|| (bridge, ended.name.to_string(), ended.session))
    });
    many(of_bridge)
}

fn many(
    agents: impl Iterator<Item = (Option<SessionId>, String, SessionId)>,
) -> Vec<EndedTogether> {
    let mut by_bridge = BTreeMap::<_, BTreeMap<_, _>>::new();
    for (bridge, name, session) in agents {
        by_bridge.entry(bridge).or_default().insert(name, session);
    }
    let many = by_bridge.into_iter().filter(|(_, agents)| agents.len() > WITH_ROWS);
    many.map(|(bridge, agents)| EndedTogether { bridge, agents }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::event::{Event, Joined, Starting};
    use crate::bus::storage::LogPosition;
    use crate::view::tests::{board, entry, joining, starting};
    use crate::view::{Board, Group};

    fn session(number: u64) -> SessionId {
        SessionId(uuid::Uuid::from_u64_pair(0, number))
    }

    /// A bridge, and so many agents that it has started.
    fn team(agents: u64) -> State {
        let mut state = State::default();
        let bridge = Joined { kind: MemberKind::Orchestrator, ..joining(1, "lead") };
        state.apply(&entry(1, Event::MemberJoined(bridge)), &[0], LogPosition::default());
        for number in 2..agents + 2 {
            let own = starting(session(number), &format!("a{number}"));
            let starts = Event::MemberStarting(Starting { owner: session(1), ..own });
            state.apply(&entry(number, starts), &[0], LogPosition::default());
        }
        state
    }

    /// Returns who has a problem that windows show, and what it is.
    fn problems(board: &Board) -> Vec<String> {
        let shown = board.problems_beside_needs();
        shown.iter().map(|(one, _)| format!("{}: {}", one.who(), one.words)).collect()
    }

    #[test]
    fn many_agents_whose_bridge_is_gone_are_one_problem_with_it() {
        let board = board(&team(5), 9, false);
        assert_eq!(
            problems(&board),
            ["lead: its process has ended, and 5 agents with it: a2, a3, a4 and 2 more; the next \
                 session will record that"]
        );
        assert_eq!(board.problems[0].agents, ["a2", "a3", "a4", "a5", "a6"]);
        assert!(board.members.iter().all(|row| board.is_problem(row)));
    }

    #[test]
    fn few_agents_have_rows_of_their_own() {
        assert_eq!(problems(&board(&team(3), 9, false)).len(), 4);
        assert_eq!(problems(&board(&team(5), 9, true)), [""; 0]);
    }

    #[test]
    fn many_agents_of_a_dead_bridge_are_one_problem_also_once_another_leads() {
        let mut state = team(5);
        for number in 1..=6 {
            let left = Event::MemberLeft {
                session: session(number),
                departure: Departure::Dead,
                detail: None,
                alive_ms: None,
            };
            state.apply(&entry(9 + number, left), &[0], LogPosition::default());
        }
        let dead = board(&state, 20, true);
        let words = problems(&dead);
        let [words] = &words[..] else { panic!("{words:?}") };
        let expected = "lead: its process died, and 5 agents have ended with it: a2, a3, a4 and 2 \
                        more. Nobody leads now";
        assert!(words.starts_with(expected), "{words}");
        let next = Joined { kind: MemberKind::Orchestrator, ..joining(30, "lead") };
        state.apply(&entry(30, Event::MemberJoined(next)), &[0], LogPosition::default());
        let board = board(&state, 30, true);
        assert_eq!(
            problems(&board),
            ["team: 5 agents have ended with their bridge: a2, a3, a4 and 2 more"]
        );
        let ended = board.members.iter().filter(|row| row.group == Group::Ended);
        let is_told: Vec<_> = ended.map(|row| (row.name.as_str(), board.is_problem(row))).collect();
        assert!(is_told.iter().all(|(name, told)| *told == (*name != "lead")), "{is_told:?}");
    }
}
