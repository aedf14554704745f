//! Drawn trees.

use std::time::Duration;

use console::measure_text_width;

use super::shown_time::took;
use super::step_row::Time;
use super::*;
use crate::domain::workflow::StepStatus;
use crate::domain::workflow::StepStatus::{
    Asking, Cancelled, Done, Failed, Running, Skipped, Waiting,
};

/// A step of the agent `codex` with this status.
fn step(name: &str, depends_on: &[&str], status: StepStatus) -> Shown {
    let time = match status {
        Running => Time::Since(1_000),
        Done | Failed => Time::Took(Duration::from_millis(2_345)),
        _ => Time::None,
    };
    Shown {
        name: name.to_owned(),
        part_of: None,
        depends_on: depends_on.iter().map(ToString::to_string).collect(),
        status,
        agent: "codex".to_owned(),
        attempt: u32::from(status != Waiting),
        time,
        note: String::new(),
    }
}

fn drawn(steps: &[Shown], width: usize, rows: Option<usize>) -> Vec<String> {
    let head = Head {
        name: "review".to_owned(),
        id: "wf-1".to_owned(),
        elapsed: Duration::from_secs(65),
        now_ms: 13_900,
    };
    let look = TreeStyle { width, rows, colours: false, beat: Some(0) };
    draw(&head, steps, &look)
}

fn check(steps: &[Shown], lines: &[&str]) {
    assert_eq!(drawn(steps, 80, None), lines);
}

#[test]
fn a_chain_goes_down_step_by_step() {
    let mut last = step("c", &["b"], Waiting);
    last.note = "for b".to_owned();
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
            "└─ ? alone                 asking             codex",
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
    (failed.attempt, failed.note) = (3, "no quota".to_owned());
    let mut skipped = step("c", &["b"], Skipped);
    skipped.note = "b has failed".to_owned();
    check(
        &[step("a", &[], Done), failed, skipped, step("d", &["a"], Cancelled)],
        &[
            "review (wf-1)  1m 05s  1 of 4 steps done, 1 failed, 1 cancelled, 1 skipped",
            "└─ ✓ a        done         2.3s  codex",
            "   ├─ ✗ b     failed       2.3s  codex  attempt 3, no quota",
            "   │  └─ - c  skipped            codex  b has failed",
            "   └─ - d     cancelled          codex",
        ],
    );
}

#[test]
fn items_of_a_step_are_below_it() {
    let mut part = step("each.1", &["list"], Running);
    part.part_of = Some("each".to_owned());
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
    wide.note = "読めない".repeat(20);
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
    let head = Head {
        name: "review".to_owned(),
        id: "wf-1".to_owned(),
        elapsed: Duration::from_secs(65),
        now_ms: 13_900,
    };
    let look = TreeStyle { width: 40, rows: None, colours: true, beat: Some(0) };
    let coloured = draw(&head, &steps, &look);
    assert!(coloured[1].contains("\x1b[32m✓"), "{coloured:?}");
    let stripped = coloured.iter().map(|line| console::strip_ansi_codes(line));
    assert_eq!(stripped.collect::<Vec<_>>(), plain);
}

#[test]
fn foreign_text_is_one_line_without_terminal_codes() {
    assert_eq!(one_line("a\n\n  b\tc\x1b[2J\u{202e}d\r"), "a b c[2Jd");
    let long = one_line(&"x".repeat(1_000));
    assert!(long.ends_with("x…") && long.len() < 400);
}

#[test]
fn times_are_as_exact_as_they_can_be_read() {
    let of = |seconds: f64| took(Duration::from_secs_f64(seconds));
    assert_eq!(of(0.04), "0.0s");
    assert_eq!(of(9.94), "9.9s");
    assert_eq!(of(59.9), "59s");
    assert_eq!(of(61.0), "1m 01s");
    assert_eq!(of(7_380.0), "2h 03m");
}
