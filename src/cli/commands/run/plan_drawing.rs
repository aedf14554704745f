//! A plan as a graph, in the language of a drawing program.

use std::fmt::Write as _;

use crate::domain::text::exactly::{exact_words, exactly};
use crate::domain::text::visible_letters::{is_invisible, one_line};
use crate::domain::workflow::Step;
use crate::workflow::plan::Plan;

/// Draws the plan for Mermaid.
pub(crate) fn mermaid(plan: &Plan) -> String {
    let mut text = "graph TD".to_owned();
    for (number, step) in plan.steps.iter().enumerate() {
        write!(
            text,
            "\n    n{number}[\"{}<br/>{}{}{}{}\"]",
            step.name,
            step.agent,
            on_host(step).map(|host| in_mermaid(&host)).unwrap_or_default(),
            // In a label, these are HTML.
            quotable(&conditions(step)).replace('<', "#lt;").replace('>', "#gt;"),
            gate(step).map(|gate| format!("<br/>{}", in_mermaid(&gate))).unwrap_or_default()
        )
        .expect("writing to a string succeeds");
    }
    for (from, to) in edges(plan) {
        write!(text, "\n    n{from} --> n{to}").expect("writing to a string succeeds");
    }
    text
}

/// Draws the plan for Graphviz.
pub(crate) fn dot(plan: &Plan) -> String {
    let name = quotable(&plan.name);
    let mut text = format!("digraph \"{name}\" {{\n    node [shape=box];");
    for (number, step) in plan.steps.iter().enumerate() {
        write!(
            text,
            "\n    n{number} [label=\"{}\\n{}{}{}{}\"];",
            step.name,
            step.agent,
            on_host(step).map(|host| in_dot(&host)).unwrap_or_default(),
            quotable(&conditions(step)),
            gate(step).map(|gate| format!("\\n{}", in_dot(&gate))).unwrap_or_default()
        )
        .expect("writing to a string succeeds");
    }
    for (from, to) in edges(plan) {
        write!(text, "\n    n{from} -> n{to};").expect("writing to a string succeeds");
    }
    text.push_str("\n}");
    text
}

/// Says on which host the agent of a step is started, if the plan says so.
pub(super) fn on_host(step: &Step) -> Option<String> {
    let host = step.host.as_ref()?;
    Some(format!(", on {}", one_line(&exactly(host))))
}

/// Returns the list and the condition of a step.
pub(super) fn conditions(step: &Step) -> String {
    let for_each = step.for_each.as_ref();
    let for_each = for_each.map(|source| format!(", for each of {source}"));
    let when = step.when.as_ref().map(|when| format!(", when {when}"));
    let all = for_each.unwrap_or_default() + &when.unwrap_or_default();
    // A condition may contain any text.
    one_line(&all)
}

/// Returns the gate of a step, with all that is in its command.
fn gate(step: &Step) -> Option<String> {
    let gate = step.gate.as_ref()?;
    Some(format!("gate: {}", exact_words(&gate.command)))
}

/// Writes a line as a part of a label, in which Mermaid reads HTML and its own entities.
fn in_mermaid(line: &str) -> String {
    let entity = |letter: char| match letter {
        '"' => "#quot;".to_owned(),
        '<' => "#lt;".to_owned(),
        '>' => "#gt;".to_owned(),
        // Among these are the beginnings of entities, of HTML's and of Mermaid's, of Markdown and of a comment.
        '#' | '&' | ';' | '\\' | '`' | '*' | '_' | '%' => format!("#{};", u32::from(letter)),
        _ => letter.to_string(),
    };
    line.chars().map(entity).collect()
}

/// Writes a line as a part of a label, in which Graphviz reads escapes and HTML's entities.
fn in_dot(line: &str) -> String {
    line.replace('\\', "\\\\").replace('"', "\\\"").replace('&', "&amp;")
}

/// Makes a text safe between double quotes, on one line.
fn quotable(text: &str) -> String {
    text.replace(['"', '\\'], "'").replace(is_invisible, " ")
}

/// Returns the dependencies as pairs of positions in the plan.
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
    use crate::domain::workflow::{Field, Gate, Relation, StepReference, When};

    fn plan() -> Plan {
        let name = |text: &str| Name::parse(text).unwrap();
        let (a, b) = (name("a"), name("b.1"));
        let steps = vec![
            Step::new(a.clone(), "codex", &[]),
            Step::new(b.clone(), "gemini", &[]),
            Step::new(name("c"), "codex", &[a, b]),
        ];
        Plan { name: "the \"review\"".into(), prompts: vec![String::new(); steps.len()], steps }
    }

    #[test]
    fn lists_and_conditions_are_shown_with_their_step() {
        let mut plan = plan();
        let source = StepReference {
            step: plan.steps[0].name.clone(),
            field: Field::Json(vec!["list".into()]),
        };
        plan.steps[2].for_each = Some(source.clone());
        plan.steps[2].when =
            Some(When { source, relation: Relation::Contains, value: "a \"b\"".into() });
        assert!(mermaid(&plan).contains("contains a 'b'\"]"));
        assert!(dot(&plan).contains("contains a 'b'\"];"));
    }

    #[test]
    fn a_gate_is_shown_with_all_that_it_runs() {
        let mut plan = plan();
        let command = ["sh", "-c", "a && b # c\ntouch X"].map(str::to_owned).to_vec();
        plan.steps[1].gate = Some(Gate { command, timeout_seconds: 1 });
        let drawn = r#"<br/>gate: [#quot;sh#quot;, #quot;-c#quot;, #quot;a #38;#38; b #35; c#92;ntouch X#quot;]"]"#;
        assert!(mermaid(&plan).contains(drawn), "{}", mermaid(&plan));
        let drawn = r#"\ngate: [\"sh\", \"-c\", \"a &amp;&amp; b # c\\ntouch X\"]"];"#;
        assert!(dot(&plan).contains(drawn), "{}", dot(&plan));
    }

    #[test]
    fn no_text_of_a_plan_moves_the_cursor_or_adds_a_line() {
        let mut plan = plan();
        plan.name = "w\n  9. all is well".into();
        plan.steps[2].when = Some(When {
            source: StepReference { step: plan.steps[0].name.clone(), field: Field::Output },
            relation: Relation::Contains,
            value: "x\u{1b}[2J\u{9b}\u{202e}\n  9. y".into(),
        });
        plan.steps[1].host = Some("x\u{1b}[2J\"\n  9. <b>y".into());
        for (drawn, lines) in [(mermaid(&plan), 6), (dot(&plan), 8)] {
            assert_eq!(drawn.lines().count(), lines, "{drawn}");
            let odd = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!drawn.contains(odd), "{drawn:?}");
            assert!(!drawn.contains("<b>y") || drawn.starts_with("digraph"), "{drawn}");
        }
    }

    #[test]
    fn the_host_of_a_step_is_shown_beside_its_agent() {
        let mut plan = plan();
        plan.steps[1].host = Some("builder".into());
        assert!(mermaid(&plan).contains("gemini, on #quot;builder#quot;\"]"), "{}", mermaid(&plan));
        assert!(dot(&plan).contains("gemini, on \\\"builder\\\"\"];"), "{}", dot(&plan));
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
