//! A plan as text: its order, or a graph in the language of a drawing program.

use std::fmt::Write as _;

use crate::workflow::plan::Plan;

/// Says in which order the steps run, and which at once.
pub(super) fn order(plan: &Plan) -> String {
    let mut text = format!("{}: {} steps", plan.name, plan.steps.len());
    for (number, group) in plan.order().iter().enumerate() {
        let members: Vec<_> = plan
            .steps
            .iter()
            .filter(|step| group.contains(&step.name))
            .map(|step| format!("{} ({})", step.name, step.agent))
            .collect();
        let at_once = if group.len() > 1 { ", at once" } else { "" };
        write!(text, "\n{:>3}. {}{at_once}", number + 1, members.join(", "))
            .expect("writing to a string succeeds");
    }
    text
}

/// Draws the plan for Mermaid.
pub(super) fn mermaid(plan: &Plan) -> String {
    let mut text = "graph TD".to_owned();
    for (number, step) in plan.steps.iter().enumerate() {
        write!(
            text,
            "\n    n{number}[\"{}<br/>{}\"]",
            step.name, step.agent
        )
        .expect("writing to a string succeeds");
    }
    for (from, to) in edges(plan) {
        write!(text, "\n    n{from} --> n{to}").expect("writing to a string succeeds");
    }
    text
}

/// Draws the plan for Graphviz.
pub(super) fn dot(plan: &Plan) -> String {
    // A name is one line without quotes and backslashes after this.
    let name = plan.name.replace(['"', '\\'], "'");
    let mut text = format!("digraph \"{name}\" {{\n    node [shape=box];");
    for (number, step) in plan.steps.iter().enumerate() {
        write!(
            text,
            "\n    n{number} [label=\"{}\\n{}\"];",
            step.name, step.agent
        )
        .expect("writing to a string succeeds");
    }
    for (from, to) in edges(plan) {
        write!(text, "\n    n{from} -> n{to};").expect("writing to a string succeeds");
    }
    text.push_str("\n}");
    text
}

/// Returns which step hands on to which, as places in the plan.
fn edges(plan: &Plan) -> Vec<(usize, usize)> {
    let mut edges = Vec::new();
    for (to, step) in plan.steps.iter().enumerate() {
        for (from, before) in plan.steps.iter().enumerate() {
            if step.depends_on.contains(&before.name) {
                edges.push((from, to));
            }
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::name::Name;
    use crate::domain::workflow::Step;

    fn plan() -> Plan {
        let name = |text: &str| Name::parse(text).unwrap();
        let (a, b) = (name("a"), name("b.1"));
        let steps = vec![
            Step::new(a.clone(), "codex", &[]),
            Step::new(b.clone(), "gemini", &[]),
            Step::new(name("c"), "codex", &[a, b]),
        ];
        Plan {
            name: "the \"review\"".into(),
            prompts: vec![String::new(); steps.len()],
            steps,
        }
    }

    #[test]
    fn the_order_says_what_runs_at_once() {
        assert_eq!(
            order(&plan()),
            "the \"review\": 3 steps\n  1. a (codex), b.1 (gemini), at once\n  2. c (codex)"
        );
    }

    #[test]
    fn graphs_have_every_step_and_every_edge() {
        assert_eq!(
            mermaid(&plan()),
            "graph TD\n    n0[\"a<br/>codex\"]\n    n1[\"b.1<br/>gemini\"]\n    n2[\"c<br/>codex\"]\n    n0 --> n2\n    n1 --> n2"
        );
        assert_eq!(
            dot(&plan()),
            "digraph \"the 'review'\" {\n    node [shape=box];\n    n0 [label=\"a\\ncodex\"];\n    n1 [label=\"b.1\\ngemini\"];\n    \
             n2 [label=\"c\\ncodex\"];\n    n0 -> n2;\n    n1 -> n2;\n}"
        );
    }
}
