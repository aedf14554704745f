//! A plan as text: the order of its steps, which of them run in parallel, and what each needs besides its prompt.

use std::fmt::Write as _;

use super::plan_drawing::{conditions, on_host};
use crate::domain::text::counted::counted;
use crate::domain::text::exactly::exact_words;
use crate::domain::text::visible_letters::one_line;
use crate::domain::workflow::Step;
use crate::workflow::plan::Plan;

/// Returns a line for each group of steps that run in parallel, and below it a line for each gate, approval, round and limit.
pub(super) fn order(plan: &Plan) -> String {
    let steps = counted(plan.steps.len(), "step");
    let mut text = format!("{}: {steps}", one_line(&plan.name));
    for (number, group) in plan.order().iter().enumerate() {
        let steps: Vec<_> = plan.steps.iter().filter(|step| group.contains(&step.name)).collect();
        let members: Vec<_> = steps.iter().map(|step| member(step)).collect();
        let at_once = if group.len() > 1 { ", in parallel" } else { "" };
        write!(text, "\n{:>3}. {}{at_once}", number + 1, members.join(", "))
            .expect("writing to a string succeeds");
        for step in steps {
            for detail in details(step) {
                write!(text, "\n       {}: {detail}", step.name)
                    .expect("writing to a string succeeds");
            }
        }
    }
    text
}

/// Returns a step with its agents and conditions.
fn member(step: &Step) -> String {
    let agents: Vec<_> =
        std::iter::once(&step.agent).chain(&step.fallback).map(String::as_str).collect();
    let host = on_host(step).unwrap_or_default();
    format!("{} ({}{host}{})", step.name, one_line(&agents.join(", else ")), conditions(step))
}

/// Returns what a step needs to begin and to count as done, a sentence's part each.
fn details(step: &Step) -> Vec<String> {
    let approval = step.approve.map(|_| "waits for a person's approval".to_owned());
    let limit = step.timeout_seconds.map(|most| format!("at most {most} s per attempt"));
    let retries = match step.retries {
        0 => None,
        1 => Some("1 retry after a failure".to_owned()),
        most => Some(format!("up to {most} retries after a failure")),
    };
    let gate = step.gate.as_ref().map(|gate| {
        let command = exact_words(&gate.command);
        format!("done when {command} exits with 0 within {} s", gate.timeout_seconds)
    });
    let rounds = step.repeat.as_ref().map(|repeat| {
        let others: Vec<_> = repeat.steps.iter().map(ToString::to_string).collect();
        let with = if others.is_empty() {
            String::new()
        } else {
            format!(", each with {}", others.join(", "))
        };
        format!("else again, up to {} rounds{with}", repeat.times)
    });
    [approval, limit, retries, gate, rounds].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::name::Name;
    use crate::domain::workflow::{Approver, Field, Gate, Relation, Repeat, StepReference, When};

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    fn plan() -> Plan {
        let steps = vec![
            Step::new(name("a"), "codex", &[]),
            Step::new(name("b.1"), "gemini", &[]),
            Step::new(name("c"), "codex", &[name("a"), name("b.1")]),
        ];
        Plan { name: "the \"review\"".into(), prompts: vec![String::new(); steps.len()], steps }
    }

    #[test]
    fn the_order_shows_which_steps_run_in_parallel() {
        assert_eq!(
            order(&plan()),
            "the \"review\": 3 steps\n  1. a (codex), b.1 (gemini), in parallel\n  2. c (codex)"
        );
    }

    #[test]
    fn conditions_fallbacks_approvals_gates_and_rounds_are_shown_with_their_step() {
        let mut plan = plan();
        let source = StepReference { step: name("a"), field: Field::Json(vec!["list".into()]) };
        plan.steps[1].retries = 2;
        plan.steps[1].host = Some("builder".into());
        let step = &mut plan.steps[2];
        step.for_each = Some(source.clone());
        step.when = Some(When { source, relation: Relation::Contains, value: "a \"b\"".into() });
        step.fallback = vec!["gemini".into(), "qwen".into()];
        step.approve = Some(Approver::Human);
        step.timeout_seconds = Some(60);
        step.retries = 1;
        let command = ["cargo", "test"].map(str::to_owned).to_vec();
        step.gate = Some(Gate { command, timeout_seconds: 900 });
        step.repeat = Some(Repeat { times: 5, steps: vec![name("a")] });
        assert_eq!(
            order(&plan),
            "the \"review\": 3 steps\n  1. a (codex), b.1 (gemini, on \"builder\"), in parallel\n       b.1: up to 2 retries after a failure\n  \
             2. c (codex, else gemini, else qwen, for each of steps.a.json.list, when steps.a.json.list contains a \"b\")\n       \
             c: waits for a person's approval\n       c: at most 60 s per attempt\n       c: 1 retry after a failure\n       \
             c: done when [\"cargo\", \"test\"] exits with 0 within 900 s\n       c: else again, up to 5 rounds, each with a"
        );
    }

    #[test]
    fn no_text_of_a_plan_moves_the_cursor_or_adds_a_line() {
        let odd = "x\u{1b}[2J\u{9b}\u{202e}\n  9. y";
        let mut plan = plan();
        plan.name = odd.into();
        let step = &mut plan.steps[2];
        step.when = Some(When {
            source: StepReference { step: name("a"), field: Field::Output },
            relation: Relation::Contains,
            value: odd.into(),
        });
        step.fallback = vec![odd.into()];
        step.host = Some(odd.into());
        step.gate = Some(Gate { command: vec![odd.into()], timeout_seconds: 1 });
        let drawn = order(&plan);
        assert_eq!(drawn.lines().count(), 4, "{drawn}");
        let gate = r#"done when ["x\u{1b}[2J\u{9b}\u{202e}\n  9. y"] exits with 0"#;
        assert!(drawn.contains(gate), "{drawn}");
        let moves = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!drawn.contains(moves), "{drawn:?}");
    }
}
