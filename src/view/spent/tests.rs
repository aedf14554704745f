//! What turns have used, summed up.

use super::*;
use crate::bus::event::{Body, Created, Finished, Skip, TaskReport};
use crate::bus::storage::LogPosition;
use crate::domain::ids::CommandId;
use crate::domain::member::Departure;
use crate::domain::name::Name;
use crate::domain::task::result::Money;
use crate::domain::time::Tick;
use crate::view::tests::{assigned, starting};

#[test]
fn costs_add_up_exactly_and_currencies_stay_apart() {
    let usage = |amount, currency| Usage {
        input_tokens: Some(1_000),
        output_tokens: Some(200),
        cost: Money::of(amount, currency),
        ..Usage::default()
    };
    let mut spent = Spent::default();
    assert!(spent.is_nothing());
    assert_eq!(spent.in_words(), "");
    for _ in 0..10 {
        spent.add(&usage(0.1, "USD"));
    }
    spent.add(&usage(2.0, "EUR"));
    assert_eq!(spent.micros["USD"], 1_000_000);
    assert_eq!(spent.in_words(), "13,200 tokens, 2.00 EUR, 1.00 USD");
    let sum = Spent::sum([&spent, &spent].into_iter());
    assert_eq!(sum.in_words(), "26,400 tokens, 4.00 EUR, 2.00 USD");
}

#[test]
fn an_agents_own_count_of_all_tokens_comes_first() {
    let usage = Usage { input_tokens: Some(5), total_tokens: Some(99), ..Usage::default() };
    assert_eq!(Spent::of(&usage).total_tokens, 99);
}

/// Two tasks, one of each of two agents of one profile, on two days.
fn folded(by: SpentBy) -> Vec<(String, u64, u64, u64)> {
    folded_with(by, false)
}

/// The same; `ben` may be played by a script.
fn folded_with(by: SpentBy, is_trial: bool) -> Vec<(String, u64, u64, u64)> {
    let session = |number| SessionId(uuid::Uuid::from_u64_pair(0, number));
    let workflow = WorkflowId::from_bits(1);
    let mut events = vec![Event::WorkflowCreated(Created {
        id: workflow.clone(),
        name: "trial".to_owned(),
        by: Name::parse("run").unwrap(),
        owner: session(9),
        steps: Vec::new(),
        prompts: Body::Text("[]".to_owned()),
        plan_file: None,
        is_trial,
    })];
    for (number, name) in [(1, "ann"), (2, "ben")] {
        let (id, session) = (TaskId::from_bits(number), session(number));
        let step = (number == 2).then(|| workflow.clone());
        let empty = Body::Text(String::new());
        let report = TaskReport {
            usage: Some(Usage { total_tokens: Some(10 * number), ..Usage::default() }),
            ..TaskReport::default()
        };
        let status = if number == 1 { TaskStatus::Done } else { TaskStatus::Failed };
        events.extend([
            Event::MemberStarting(starting(session, name)),
            Event::TaskAssigned(assigned(id.clone(), session, name, step)),
            Event::TaskFinished(Finished {
                id,
                status,
                output: empty,
                stop_reason: None,
                error: None,
                report,
            }),
        ]);
    }
    let mut fold = UsageFold::new(by);
    for (number, event) in (1_u64..).zip(events) {
        let entry = Entry {
            seq: number,
            // The second task ends a day after the first.
            ts: if number > 4 { 86_400_000 } else { 0 },
            tick: Tick { boot: 1, ms: number },
            id: CommandId(uuid::Uuid::from_u64_pair(1, number)),
            by: None,
            events: vec![event],
        };
        fold.take(&entry, &State::default());
    }
    let rows = fold.rows().into_iter();
    rows.map(|row| (row.name, row.tasks, row.done, row.spent.total_tokens)).collect()
}

#[test]
fn usage_is_summed_up_by_agent_profile_or_day() {
    let row = |name: &str, tasks, done, tokens| (name.to_owned(), tasks, done, tokens);
    assert_eq!(folded(SpentBy::Agent), [row("ann", 1, 1, 10), row("ben", 1, 0, 20)]);
    assert_eq!(folded(SpentBy::Profile), [row("codex", 2, 1, 30)]);
    let days = [row("1970-01-01", 1, 1, 10), row("1970-01-02", 1, 0, 20)];
    assert_eq!(folded(SpentBy::Day), days);
}

#[test]
fn a_turn_that_reports_nothing_is_counted() {
    let (session, id) = (SessionId(uuid::Uuid::nil()), TaskId::from_bits(1));
    let empty = Body::Text(String::new());
    let assigned = Event::TaskAssigned(assigned(id.clone(), session, "ann", None));
    let finished = Event::TaskFinished(Finished {
        id: id.clone(),
        status: TaskStatus::Cancelled,
        output: empty,
        stop_reason: None,
        error: None,
        report: TaskReport::default(),
    });
    let unreported = |events: Vec<Event>| {
        let mut fold = UsageFold::new(SpentBy::Agent);
        let entry = Entry {
            seq: 1,
            ts: 0,
            tick: Tick { boot: 1, ms: 1 },
            id: CommandId(uuid::Uuid::nil()),
            by: None,
            events,
        };
        fold.take(&entry, &State::default());
        fold.rows()[0].unreported
    };
    assert_eq!(unreported(vec![assigned.clone(), finished.clone()]), 0, "it never began");
    assert_eq!(unreported(vec![assigned, Event::TaskStarted { id }, finished]), 1);
}

#[test]
fn what_scripts_do_has_rows_of_its_own() {
    let names = |by| folded_with(by, true).into_iter().map(|row| row.0).collect::<Vec<_>>();
    assert_eq!(names(SpentBy::Agent), ["ann", "ben (trial)"]);
    assert_eq!(names(SpentBy::Profile), ["codex", "codex (trial)"]);
    assert_eq!(names(SpentBy::Day), ["1970-01-01", "1970-01-02 (trial)"]);
}

#[test]
fn turns_without_a_task_count_for_their_agent_and_are_no_task() {
    let session = SessionId(uuid::Uuid::from_u64_pair(0, 1));
    let starting = starting(session, "ann");
    let usage = Usage { total_tokens: Some(7), ..Usage::default() };
    let used = || Event::TurnUsed { session, usage: usage.clone(), skip: Skip };
    let entry = |seq, events| Entry {
        seq,
        ts: 0,
        tick: Tick { boot: 1, ms: seq },
        id: CommandId(uuid::Uuid::from_u64_pair(1, seq)),
        by: None,
        events,
    };
    let mut state = State::default();
    let first = entry(1, vec![Event::MemberStarting(starting), used()]);
    state.apply(&first, &[0, 1], LogPosition::default());
    let mut fold = UsageFold::new(SpentBy::Agent);
    fold.take(&first, &state);
    let left =
        Event::MemberLeft { session, departure: Departure::Stopped, detail: None, alive_ms: None };
    fold.take(&entry(2, vec![used(), left]), &state);
    let rows = fold.rows();
    assert_eq!((rows[0].name.as_str(), rows[0].tasks), ("ann", 0));
    assert_eq!(rows[0].spent.total_tokens, 14);
    assert_eq!(rows[0].beside_tasks.total_tokens, 14, "it is also counted by itself");
    assert_eq!(rows[0].beside_tasks_in_words().as_deref(), Some("of which 14 tokens beside tasks"));
    let sum = UsageRow::sum(&[rows[0].clone(), rows[0].clone()]);
    assert_eq!((sum.spent.total_tokens, sum.beside_tasks.total_tokens), (28, 28));
    // A fold that begins later finds the agent in the state.
    let mut later = UsageFold::new(SpentBy::Profile);
    later.take(&entry(3, vec![used()]), &state);
    assert_eq!(later.rows()[0].name, "codex");
}

#[test]
fn thousands_are_separated() {
    let numbers = [0, 7, 999, 1_000, 12_345, 1_234_567].map(thousands);
    assert_eq!(numbers, ["0", "7", "999", "1,000", "12,345", "1,234,567"]);
}

#[test]
fn a_sum_says_of_how_many_agents_its_cost_is() {
    let usage = |cost| Usage { total_tokens: Some(10), cost, ..Usage::default() };
    let (paid, unpaid) = (usage(Money::of(0.5, "USD")), usage(None));
    let mut sum = Spent::default();
    sum.add_of("ann", Some(&paid));
    sum.add_of("ann", Some(&unpaid));
    assert_eq!(sum.in_words(), "20 tokens, 0.50 USD");
    let mut others = Spent::default();
    others.add_of("ben", Some(&unpaid));
    others.add_of("cay", None);
    assert_eq!(others.in_words(), "10 tokens", "there is no cost of which to say that");
    let all = Spent::sum([&sum, &others, &sum].into_iter());
    assert_eq!(all.in_words(), "50 tokens, 1.00 USD (1 of 3 agents reports costs)");
    assert_eq!(all.least_cost(), "≥ 1.00 USD");
    assert_eq!((all.agents, all.agents_without_cost), (3, 2));
    let mut silent = Spent::default();
    silent.add_of("cay", None);
    assert!(silent.is_nothing());
}
