//! Agents that have ended together, because their bridge has: of many, one problem counts them.

use std::collections::{BTreeMap, BTreeSet};

use crate::bus::state::{EndedSession, State};
use crate::domain::ids::SessionId;
use crate::domain::member::{Departure, MemberKind};
use crate::domain::name::Name;
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

/// Returns the many agents of each bridge that was found dead, of those whose end is a problem.
pub(in crate::view) fn died_together(
    state: &State,
    crashed: &[&EndedSession],
) -> Vec<EndedTogether> {
    let dead: Vec<_> =
        state.departed().filter(|ended| ended.departure == Departure::Dead).collect();
    let crashed: BTreeSet<_> = crashed.iter().map(|ended| ended.session).collect();
    let is_one =
        |ended: &EndedSession| ended.kind == MemberKind::Agent && crashed.contains(&ended.session);
    if !dead.iter().any(|ended| is_one(ended)) {
        return Vec::new();
    }
    let last_by: BTreeMap<_, _> = state.tasks().map(|task| (task.session, &task.by)).collect();
    let of_bridge =
        dead.iter().enumerate().filter(|(_, ended)| is_one(ended)).map(|(at, ended)| {
            let bridge = bridge_of(ended, &dead[..at], last_by.get(&ended.session).copied());
            (bridge, ended.name.to_string(), ended.session)
        });
    many(of_bridge)
}

/// Returns the dead bridge with which an agent ended, of those who died before it: the one that gave it work. Otherwise who finds a bridge
/// dead records its end, and then that of its agents; only of bridges that died at once, whose agents were found later, nothing tells.
fn bridge_of(
    agent: &EndedSession,
    before: &[&EndedSession],
    by: Option<&Name>,
) -> Option<SessionId> {
    let bridges = || before.iter().rev().filter(|one| one.kind == MemberKind::Orchestrator);
    if let Some(bridge) = bridges().find(|bridge| by == Some(&bridge.name)) {
        return Some(bridge.session);
    }
    let last = bridges().next()?;
    let are_several = bridges().nth(1).is_some_and(|other| other.at == last.at);
    (agent.at == last.at || !are_several).then_some(last.session)
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
    use crate::bus::event::{Entry, Event, Joined, Starting, TaskAssigned};
    use crate::bus::storage::LogPosition;
    use crate::domain::ids::TaskId;
    use crate::domain::time::Tick;
    use crate::view::tests::{assigned, board, entry, joining, starting};
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

    #[test]
    fn of_two_bridges_that_died_at_once_each_has_its_own_agents() {
        let (mut state, mut seq) = (State::default(), 0);
        let mut happens = |tick_ms: u64, event| {
            seq += 1;
            let at = Tick { boot: 1, ms: tick_ms };
            state.apply(&Entry { tick: at, ..entry(seq, event) }, &[0], LogPosition::default());
        };
        for (bridge, name) in [(1, "lead"), (2, "other")] {
            let joined = Joined { kind: MemberKind::Orchestrator, ..joining(bridge, name) };
            happens(1, Event::MemberJoined(joined));
        }
        // Those of the first have work of it, and those of the second none.
        for number in 10..18 {
            let (own, bridge) = (session(number), session(1 + number % 2));
            let name = format!("a{number}");
            let starts = Starting { owner: bridge, ..starting(own, &name) };
            happens(1, Event::MemberStarting(starts));
            if number % 2 == 0 {
                let task = assigned(TaskId::from_bits(number), own, &name, None);
                let by = Name::parse("lead").unwrap();
                happens(1, Event::TaskAssigned(TaskAssigned { by, ..task }));
            }
        }
        let dead = |number| Event::MemberLeft {
            session: session(number),
            departure: Departure::Dead,
            detail: None,
            alive_ms: None,
        };
        let later = {
            let mut state = state.clone();
            for (number, tick_ms) in
                [1, 2].map(|bridge| (bridge, 2)).into_iter().chain((10..18).map(|agent| (agent, 3)))
            {
                let at = Tick { boot: 1, ms: tick_ms };
                state.apply(
                    &Entry { tick: at, ..entry(100 + number, dead(number)) },
                    &[0],
                    LogPosition::default(),
                );
            }
            state
        };
        let agents = |state: &State| {
            let board = board(state, 200, true);
            let shown = board.problems_beside_needs();
            let rows = shown.iter().map(|(one, _)| (one.who().to_owned(), one.agents.join(" ")));
            rows.collect::<Vec<_>>()
        };
        let of_lead = ("lead".to_owned(), "a10 a12 a14 a16".to_owned());
        let unknown = ("team".to_owned(), "a11 a13 a15 a17".to_owned());
        let rows = agents(&later);
        assert!(rows.contains(&of_lead) && rows.contains(&unknown), "{rows:?}");
        assert!(rows.contains(&("other".to_owned(), String::new())), "{rows:?}");
        assert_eq!(rows.len(), 3, "{rows:?}");

        // Found together, each bridge is recorded before its agents.
        let order = [1, 10, 12, 14, 16, 2, 11, 13, 15, 17];
        for number in order {
            let at = Tick { boot: 1, ms: 2 };
            state.apply(
                &Entry { tick: at, ..entry(100 + number, dead(number)) },
                &[0],
                LogPosition::default(),
            );
        }
        let of_other = ("other".to_owned(), "a11 a13 a15 a17".to_owned());
        let rows = agents(&state);
        assert!(rows.contains(&of_lead) && rows.contains(&of_other), "{rows:?}");
        assert_eq!(rows.len(), 2, "{rows:?}");
    }
}
