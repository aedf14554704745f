//! What is wrong, and what is not.

use std::borrow::Cow;

use super::*;
use crate::bus::event::{
    Entry, Envelope, Event, Joined, MessageHeld, MessageSent, Starting, TaskAssigned,
};
use crate::bus::storage::LogPosition;
use crate::domain::ids::{CommandId, MessageId, TaskId};
use crate::domain::messaging::Audience;
use crate::domain::name::Name;
use crate::domain::time::Tick;
use crate::view::tests::{assigned, board, entry, joining, row, starting};
use crate::view::{Board, Looked, NoTexts, OwedAnswer};

fn to_web(number: u64) -> Event {
    let ann = Name::parse("ann").unwrap();
    let to = Audience::try_from(Cow::from("web:alice")).unwrap();
    Event::MessageSent(MessageSent {
        more: Some(Box::new(Envelope { queue: true, ..Envelope::default() })),
        ..MessageSent::plain(MessageId::from_bits(number), ann, to, "x")
    })
}

#[test]
fn messages_that_are_on_their_way_for_long_are_a_problem_of_their_project() {
    let tick = Tick { boot: 1, ms: 1_000 };
    let mut state = State::default();
    let held = MessageHeld { id: MessageId::from_bits(2), why: HeldWhy::NoBus };
    let events = vec![to_web(1), to_web(2), Event::MessageHeld(held)];
    let id = CommandId(uuid::Uuid::nil());
    let entry = Entry { seq: 1, ts: 0, tick, id, by: None, events };
    state.apply(&entry, &[0, 1, 2], LogPosition::default());
    let words = |wall_ms| {
        let found = of(&state, &[], (0, Now { wall_ms, tick }), &mut NoTexts);
        found.into_iter().map(|problem| problem.words).collect::<Vec<_>>()
    };
    assert_eq!(words(59_999), Vec::<String>::new());
    assert_eq!(
        words(180_000),
        [
            "2 messages have been on the way to `web:` for 3 min: there is no team in that project yet"
        ]
    );
}

#[test]
fn a_time_that_goes_on_is_no_other_problem_and_another_number_is() {
    let problem = |kind, words: &str| Problem::of(kind, None, words.to_owned());
    let kept = |minutes| {
        problem(ProblemKind::Kept, &format!("2 messages have been on the way for {minutes} min"))
    };
    assert!(kept(3).is_same_as(&kept(14)));
    let damaged =
        |lines| problem(ProblemKind::Damaged, &format!("{lines} lines of the log are damaged"));
    assert!(damaged(2).is_same_as(&damaged(2)) && !damaged(2).is_same_as(&damaged(3)));
    let failed = |code| problem(ProblemKind::WakeFailed, &format!("its model answers {code}"));
    assert!(!failed(401).is_same_as(&failed(503)));
}

#[test]
fn an_idle_agent_for_whose_overdue_answer_somebody_waits_is_a_problem() {
    let owed = |reminders| OwedAnswer {
        message_id: "msg-1".to_owned(),
        to: "tests".to_owned(),
        others: 0,
        text: None,
        due_at: None,
        reminders,
    };
    let team = |reminders, state: &str, whom: &str| {
        let api = MemberRow { owes: vec![owed(reminders)], ..row("api", state) };
        [api, MemberRow { waits_for: Some(whom.to_owned()), ..row("tests", "waiting") }]
    };
    let found = of_waits(&team(1, "idle", "api"));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].kind, found[0].who()), (ProblemKind::Overdue, "api"));
    let words = "owes tests an answer, overdue (1 reminder); tests waits for it";
    assert_eq!(found[0].words, words);
    assert!(found[0].advice().unwrap().contains("`cli-team-bridge send api TEXT`"));
    for none in [team(0, "idle", "api"), team(1, "running", "api"), team(1, "idle", "cay")] {
        assert_eq!(of_waits(&none), []);
    }
    let mut replaced = found.clone();
    replace_waits(&mut replaced, &team(1, "idle", "api"));
    assert_eq!(replaced, found, "it stands there once");
}

fn session(number: u64) -> SessionId {
    SessionId(uuid::Uuid::from_u64_pair(0, number))
}

fn bridge_joins(number: u64, name: &str) -> Event {
    Event::MemberJoined(Joined { kind: MemberKind::Orchestrator, ..joining(number, name) })
}

fn dies(number: u64) -> Event {
    Event::MemberLeft {
        session: session(number),
        departure: Departure::Dead,
        detail: None,
        alive_ms: None,
    }
}

fn happened(events: impl IntoIterator<Item = Event>) -> State {
    let mut state = State::default();
    for (seq, event) in (1..).zip(events) {
        state.apply(&entry(seq, event), &[0], LogPosition::default());
    }
    state
}

/// An agent of the first session, with a task of it.
fn agent_of_first() -> [Event; 2] {
    let own = Starting { owner: session(1), ..starting(session(2), "ann") };
    let task = assigned(TaskId::from_bits(1), session(2), "ann", None);
    let task = TaskAssigned { by: Name::parse("lead").unwrap(), ..task };
    [Event::MemberStarting(own), Event::TaskAssigned(task)]
}

#[test]
fn a_bridge_that_died_is_a_problem_until_another_leads() {
    let left = Event::MemberLeft {
        session: session(2),
        departure: Departure::Stopped,
        detail: None,
        alive_ms: None,
    };
    let [starts, task] = agent_of_first();
    let mut state = happened([bridge_joins(1, "lead"), starts, task, left, dies(1)]);
    let shown = board(&state, 5, true);
    assert_eq!(shown.problems.len(), 1);
    assert_eq!(shown.problems[0].kind, ProblemKind::Crashed);
    assert!(shown.problems[0].words.contains("Nobody leads now"), "{:?}", shown.problems);
    assert!(shown.problems[0].is_end_of(&shown.members[0]));
    assert!(shown.problems[0].since.is_some(), "also where its row is not shown");

    state.apply(&entry(6, bridge_joins(6, "next")), &[0], LogPosition::default());
    assert!(board(&state, 6, true).problems.is_empty());
}

#[test]
fn a_bridge_that_led_nothing_is_no_problem_once_its_process_has_ended() {
    let joined = || bridge_joins(1, "lead");
    let none = happened([joined(), dies(1)]);
    assert_eq!(board(&none, 2, true).problems, []);
    assert!(board(&none, 2, true).members.is_empty());
    // Nor as long as no session has recorded that.
    let gone = board(&happened([joined()]), 1, false);
    assert_eq!((gone.problems.len(), &*gone.members[0].state), (0, "gone"));

    let [starts, task] = agent_of_first();
    let with_agent = board(&happened([joined(), starts.clone()]), 2, false);
    assert!(with_agent.problems.iter().any(|one| one.who() == "lead"), "{:?}", with_agent.problems);
    let died = board(&happened([joined(), starts, task, dies(1), dies(2)]), 5, true);
    assert!(died.problems.iter().any(|one| one.who() == "lead"), "{:?}", died.problems);
}

#[test]
fn what_an_earlier_bridge_of_the_name_led_does_not_count() {
    let [starts, task] = agent_of_first();
    let at = |seq, ms: i64, event| Entry {
        ts: ms,
        tick: Tick { boot: 1, ms: ms.unsigned_abs() },
        ..entry(seq, event)
    };
    let mut state = State::default();
    let events = [
        (1, bridge_joins(1, "lead")),
        (2, starts),
        (3, task),
        (4, dies(1)),
        (5, dies(2)),
        (60_000, bridge_joins(6, "lead")),
        (61_000, dies(6)),
    ];
    for (seq, (ms, event)) in (1..).zip(events) {
        state.apply(&at(seq, ms, event), &[0], LogPosition::default());
    }
    let now = Now { wall_ms: 62_000, tick: Tick { boot: 1, ms: 62_000 } };
    let looked =
        Looked { state: &state, seq: 7, now, is_held: &|_| true, damaged_lines: 0, most_ended: 5 };
    let shown = Board::of(&looked, &mut NoTexts).problems;
    assert!(shown.iter().all(|problem| problem.who() != "lead"), "{shown:?}");
}
