//! What is printed of the steps.

use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::bus::state::{BodyRef, State, Workflow};
use crate::bus::storage::LogPosition;
use crate::domain::ids::{TaskId, WorkflowId};
use crate::domain::name::Name;
use crate::domain::workflow::{Again, Step, WorkflowStatus};
use crate::view::WorkflowTree;

/// Makes a workflow of one step with these fields.
fn workflow(fields: &Value) -> Workflow {
    let plan = Step::new(Name::parse("a").unwrap(), "red", &[]);
    let mut step = json!({
        "plan": plan, "status": "waiting", "attempts": 0, "failures": 0, "interruptions": 0, "passed": 0,
    });
    for (key, value) in fields.as_object().unwrap() {
        step[key] = value.clone();
    }
    Workflow {
        id: WorkflowId::from_bits(1),
        name: "test".into(),
        by: Name::parse("run").unwrap(),
        owner: None,
        status: WorkflowStatus::Running,
        cancel_asked: false,
        steps: vec![serde_json::from_value(step).unwrap()],
        prompts: BodyRef { place: LogPosition::default(), index: 0, bytes: 0 },
        plan_file: None,
        is_trial: false,
        created_ms: 0,
        ended_ms: None,
        interrupted_ms: None,
    }
}

/// Checks the lines for a change of a step between two looks.
#[track_caller]
fn check(before: &Value, after: &Value, expected: &[&str]) {
    let mut report = StepReport::new(ApprovalFrom::Elsewhere);
    let class = |_: &TaskId| Some("crashed".to_owned());
    report.lines(&workflow(before), Duration::ZERO, class);
    let lines = report.lines(&workflow(after), Duration::ZERO, class);
    let lines: Vec<_> = lines.iter().map(|line| line.trim_start_matches("    0.0 s  ")).collect();
    assert_eq!(lines, expected, "{after}");
    let again = report.lines(&workflow(after), Duration::ZERO, class);
    assert!(again.is_empty(), "{again:?}");
}

#[test]
fn the_end_of_an_attempt_is_reported_also_if_the_next_one_runs_already() {
    let red = json!({
        "status": "running", "attempts": 1, "agent": "red", "task": TaskId::from_bits(1),
    });
    check(
        &red,
        &json!({ "status": "running", "attempts": 2, "passed": 1, "agent": "blue", "why": "gone" }),
        &["a: attempt 1 by red failed (crashed): gone", "a is running again (blue, attempt 2)"],
    );
    check(
        &red,
        &json!({ "attempts": 1, "failures": 1, "agent": "red", "why": "one\n    0.0 s  b is done" }),
        &["a: attempt 1 by red failed (crashed): one\n          |     0.0 s  b is done"],
    );
    check(
        &red,
        &json!({ "status": "running", "attempts": 3, "failures": 2, "agent": "red", "why": "no" }),
        &["a: attempt 2 failed: no", "a is running again (red, attempt 3)"],
    );
    check(
        &red,
        &json!({ "attempts": 1, "interruptions": 1, "agent": "red", "why": "" }),
        &["a: attempt 1 by red was interrupted"],
    );
    check(
        &json!({}),
        &json!({ "passed": 1, "why": "full" }),
        &["a: attempt 1 could not begin: full"],
    );
    check(
        &json!({ "status": "done", "attempts": 1, "agent": "red" }),
        &json!({ "attempts": 1, "rounds": 1, "agent": "red", "why": "not yet" }),
        &["a: attempt 1 by red is repeated: not yet"],
    );
}

#[test]
fn a_reason_that_is_missing_leaves_no_colon() {
    let failed = json!({ "status": "skipped" });
    check(&json!({}), &failed, &["a was skipped"]);
    let approved = json!({ "approved": true });
    check(&json!({ "status": "asking" }), &approved, &["a is approved"]);
}

fn summed_up(fields: &Value, past: &[(Name, String)]) -> Vec<String> {
    let workflow = workflow(fields);
    let tree = WorkflowTree::of(&workflow, &State::default());
    let summary = summary(&tree, &workflow, past);
    summary.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn the_summary_has_the_whole_of_each_reason() {
    let remedy = format!("{}: run `npm install -g some-agent`\n  b  done", "x".repeat(300));
    let failed = json!({ "status": "cancelled", "why": remedy });
    let gone = "attempt 1 by red failed: gone";
    let past = [(Name::parse("a").unwrap(), gone.to_owned())];
    assert_eq!(
        summed_up(&failed, &past),
        [
            "  a  cancelled",
            &format!("      {gone}"),
            &format!("      {}: run `npm install -g some-agent`", "x".repeat(300)),
            "      |   b  done",
        ]
    );
    let attempt = AttemptEnd {
        number: 1,
        has_begun: true,
        agent: None,
        again: Again::Retry,
        class: None,
        why: &remedy,
    };
    assert!(attempt.in_summary().contains("run `npm install -g some-agent`\n      |   b"));
}

#[test]
fn the_summary_has_the_number_and_the_time_of_all_attempts() {
    let failed = json!({
        "status": "failed", "attempts": 3, "agent": "red", "started_ms": 9_000, "ended_ms": 10_000,
        "attempts_ms": 7_500,
    });
    assert_eq!(summed_up(&failed, &[]), ["  a  failed     7.5s  red  3 attempts"]);
}

#[test]
fn an_approval_has_a_line_however_soon_the_step_begins() {
    let step = |status, attempts, approved| {
        let agent = if attempts > 0 { json!("red") } else { Value::Null };
        workflow(&json!({
            "status": status, "attempts": attempts, "approved": approved, "agent": agent,
        }))
    };
    let told = |approval, looks: &[Workflow]| -> Vec<String> {
        let mut report = StepReport::new(approval);
        let class = |_: &TaskId| None;
        let lines = looks.iter().flat_map(|look| report.lines(look, Duration::ZERO, class));
        lines.map(|line| line.trim_start_matches("    0.0 s  ").to_owned()).collect()
    };
    let [waiting, asking, approved, running] = [
        step("waiting", 0, false),
        step("asking", 0, false),
        step("waiting", 0, true),
        step("running", 1, true),
    ];
    let expected = ["a is approved", "a is running (red)"];
    for looks in [
        vec![waiting.clone(), asking.clone(), approved.clone(), running.clone()],
        vec![asking.clone(), running.clone()],
        vec![waiting, running.clone()],
        vec![running.clone()],
    ] {
        assert_eq!(told(ApprovalFrom::Option, &looks), expected, "{} looks", looks.len());
    }
    let with_question = told(ApprovalFrom::Terminal, &[asking, approved, running]);
    let question =
        "a waits for approval: answer here, or with `cli-team-bridge allow` in another terminal";
    assert_eq!(with_question, [question, expected[0], expected[1]]);
}

#[test]
fn a_step_for_each_item_of_a_list_ends_after_its_items() {
    let of = |steps: &[(&str, &str, Option<u32>)]| {
        let made = steps.iter().map(|(name, status, number)| {
            let item = number.map(|number| json!({ "of": "list", "number": number }));
            let fields = json!({ "status": status, "attempts": 1, "item": item });
            let mut step = workflow(&fields).steps.remove(0);
            step.plan.name = Name::parse(name).unwrap();
            step
        });
        Workflow { steps: made.collect(), ..workflow(&json!({})) }
    };
    let mut report = StepReport::new(ApprovalFrom::Elsewhere);
    let class = |_: &TaskId| None;
    let running = [
        ("list", "running", None),
        ("sum", "waiting", None),
        ("list-1", "running", Some(1)),
        ("list-2", "running", Some(2)),
    ];
    report.lines(&of(&running), Duration::ZERO, class);
    let done = running
        .map(|(name, status, number)| (name, if name == "sum" { status } else { "done" }, number));
    let lines = report.lines(&of(&done), Duration::ZERO, class);
    let names: Vec<_> = lines.iter().filter_map(|line| line.split_whitespace().nth(2)).collect();
    assert_eq!(names, ["list-1", "list-2", "list"]);
}
