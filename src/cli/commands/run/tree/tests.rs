//! Drawn trees.

use std::time::Duration;

use console::measure_text_width;

use super::*;
use crate::domain::workflow::StepStatus;
use crate::domain::workflow::StepStatus::{
    Asking, Cancelled, Done, Failed, Running, Skipped, Waiting,
};
use crate::view::{Moment, StepNode, WorkflowTree};

/// A step of the agent `codex` with this status.
fn step(name: &str, depends_on: &[&str], status: StepStatus) -> StepNode {
    StepNode {
        name: name.to_owned(),
        item_of: None,
        agent: "codex".to_owned(),
        host: None,
        status,
        is_gone: false,
        depends_on: depends_on.iter().map(ToString::to_string).collect(),
        attempts: u32::from(status != Waiting),
        task_id: None,
        started_at: None,
        ended_at: None,
        running_since: (status == Running).then_some(Moment(1_000)),
        took_ms: matches!(status, Done | Failed).then_some(2_345),
        reason: None,
        note: None,
    }
}

fn draw_with(steps: &[StepNode], look: &TreeStyle) -> Vec<String> {
    let tree = WorkflowTree {
        workflow_id: "wf-1".to_owned(),
        name: "review".to_owned(),
        status: "running".to_owned(),
        is_gone: false,
        by: "run".to_owned(),
        is_trial: false,
        created_at: Moment(0),
        ended_at: None,
        steps_done: 0,
        steps_total: steps.iter().filter(|step| step.item_of.is_none()).count(),
        steps: steps.to_vec(),
    };
    draw(&tree, Times { elapsed: Duration::from_secs(65), now: Moment(13_900) }, look)
}

fn drawn(steps: &[StepNode], width: usize, rows: Option<usize>) -> Vec<String> {
    draw_with(steps, &TreeStyle { width, rows, colours: false, beat: Some(0) })
}

fn check(steps: &[StepNode], lines: &[&str]) {
    assert_eq!(drawn(steps, 80, None), lines);
}

#[test]
fn a_chain_goes_down_step_by_step() {
    let mut last = step("c", &["b"], Waiting);
    last.note = Some("for b".to_owned());
    check(
        &[step("a", &[], Done), step("b", &["a"], Running), last],
        &[
            "review (wf-1)  1m 05s  1 of 3 steps done",
            "└─ ✓ a        done         2.3s  codex",
            "   └─ ⠋ b     running       12s  codex",
            "      └─ · c  waiting            codex  for b",
        ],
    );
}

#[test]
fn a_step_with_several_dependencies_is_below_the_deepest_and_names_the_others() {
    check(
        &[
            // Written first, and still below its dependencies.
            step("sum", &["long", "short"], Waiting),
            step("short", &["a"], Done),
            step("long", &["middle"], Running),
            step("middle", &["a"], Done),
            step("a", &[], Done),
            step("alone", &[], Asking),
        ],
        &[
            "review (wf-1)  1m 05s  3 of 6 steps done",
            "├─ ✓ a                     done         2.3s  codex",
            "│  ├─ ✓ short              done         2.3s  codex",
            "│  └─ ✓ middle             done         2.3s  codex",
            "│     └─ ⠋ long            running       12s  codex",
            "│        └─ · sum + short  waiting            codex",
            "└─ ! alone                 asking             codex",
        ],
    );
    let diamond = [
        step("top", &[], Done),
        step("left", &["top"], Running),
        step("right", &["top"], Running),
        step("end", &["right", "left"], Waiting),
    ];
    let lines = drawn(&diamond, 80, None);
    assert!(lines[4].starts_with("      └─ · end + left"), "{lines:?}");
}

#[test]
fn a_failure_shows_its_reason_and_the_steps_it_skipped() {
    let mut failed = step("b", &["a"], Failed);
    (failed.attempts, failed.note) = (3, Some("no quota".to_owned()));
    let mut skipped = step("c", &["b"], Skipped);
    skipped.note = Some("b has failed".to_owned());
    check(
        &[step("a", &[], Done), failed, skipped, step("d", &["a"], Cancelled)],
        &[
            "review (wf-1)  1m 05s  1 of 4 steps done, 1 failed, 1 cancelled, 1 skipped",
            "└─ ✓ a        done         2.3s  codex",
            "   ├─ ✗ b     failed       2.3s  codex  3 attempts, no quota",
            "   │  └─ - c  skipped            codex  b has failed",
            "   └─ - d     cancelled          codex",
        ],
    );
}

#[test]
fn items_of_a_step_are_below_it() {
    let mut part = step("each.1", &["list"], Running);
    part.item_of = Some("each".to_owned());
    let steps = [
        step("list", &[], Done),
        step("each", &["list"], Running),
        part,
        step("end", &["each"], Waiting),
    ];
    let lines = drawn(&steps, 80, None);
    assert!(lines[3].starts_with("      ├─ ⠋ each.1"), "{lines:?}");
    assert!(lines[4].starts_with("      └─ · end "), "{lines:?}");
}

#[test]
fn a_line_is_cut_at_the_terminals_width_by_the_width_of_its_letters() {
    let mut wide = step("a", &[], Failed);
    wide.note = Some("読めない".repeat(20));
    let lines = drawn(&[wide], 50, None);
    assert!(lines[1].ends_with('…'), "{lines:?}");
    // A letter that takes two columns may leave one free.
    assert_eq!(measure_text_width(&lines[1]), 49, "{lines:?}");
    for width in 1..60 {
        let lines = drawn(&[step("a", &[], Done)], width, None);
        let fits = lines.iter().all(|line| measure_text_width(line) <= width);
        assert!(fits, "{width}: {lines:?}");
    }
}

#[test]
fn a_long_chain_stays_in_sight() {
    let mut chain = vec![step("step-0", &[], Done)];
    for at in 1..200 {
        let before = format!("step-{}", at - 1);
        chain.push(step(&format!("step-{at}"), &[&before], Waiting));
    }
    let lines = drawn(&chain, 80, None);
    assert_eq!(lines.len(), 201);
    assert!(
        lines[200].starts_with("…                    └─ · step-199  waiting"),
        "{}",
        lines[200]
    );
}

#[test]
fn gaps_of_a_long_tree_are_counted_in_place() {
    let mut steps = vec![step("root", &[], Done)];
    for at in 1..=30 {
        let status = match at {
            1..=14 => Done,
            15..=16 => Running,
            _ => Waiting,
        };
        steps.push(step(&format!("leaf-{at}"), &["root"], status));
    }
    let lines = drawn(&steps, 80, Some(8));
    assert_eq!(
        lines,
        [
            "review (wf-1)  1m 05s  15 of 31 steps done",
            "⋮ 13 done",
            "   ├─ ✓ leaf-13  done         2.3s  codex",
            "   ├─ ✓ leaf-14  done         2.3s  codex",
            "   ├─ ⠋ leaf-15  running       12s  codex",
            "   ├─ ⠋ leaf-16  running       12s  codex",
            "   ├─ · leaf-17  waiting            codex",
            "   ⋮ 13 waiting",
        ]
    );
}

#[test]
fn colours_change_nothing_else() {
    let steps = [step("a", &[], Done), step("b", &["a"], Running)];
    let plain = drawn(&steps, 40, None);
    let look = TreeStyle { width: 40, rows: None, colours: true, beat: Some(0) };
    let coloured = draw_with(&steps, &look);
    assert!(coloured[1].contains("\x1b[32m✓"), "{coloured:?}");
    let stripped = coloured.iter().map(|line| console::strip_ansi_codes(line));
    assert_eq!(stripped.collect::<Vec<_>>(), plain);
}

#[test]
fn a_running_step_that_was_tried_before_says_which_attempt_runs() {
    let mut again = step("a", &[], Running);
    (again.attempts, again.note) = (2, Some("the last attempt: full".to_owned()));
    check(
        &[again],
        &[
            "review (wf-1)  1m 05s  0 of 1 step done",
            "└─ ⠋ a  running       12s  codex  attempt 2, the last attempt: full",
        ],
    );
}
