//! The programs that a plan needs and this machine lacks: a line for each, where a plan is only drawn.

use std::collections::BTreeSet;

use crate::team::{Candidates, role_of};
use crate::workflow::plan::Plan;

/// Returns a line for each missing program, in the order of the plan: those of agents, of fallbacks and of gates.
pub(super) fn missing_programs(plan: &Plan, known: &Candidates) -> Vec<String> {
    let mut named = BTreeSet::new();
    let mut lines = Vec::new();
    for step in &plan.steps {
        for agent in step.agents_here() {
            let of_name = || {
                let missing = known.missing.iter().find(|(name, _)| name.as_str() == agent);
                missing.map(|(_, why)| why.as_str())
            };
            let why = match role_of(agent) {
                Some(role) => known.missing_for_role(&role),
                None => of_name(),
            };
            lines.extend(why.filter(|_| named.insert(agent)).map(str::to_owned));
        }
        let program = step.gate.as_ref().and_then(|gate| gate.command.first());
        let program = program.filter(|program| named.insert(program));
        lines.extend(program.and_then(|program| known.missing_program(program)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::name::Name;
    use crate::domain::workflow::{Gate, Step};

    #[test]
    fn each_missing_program_is_named_once() {
        let name = |text: &str| Name::parse(text).unwrap();
        let gate = |program: &str| {
            Some(Gate { command: vec![program.to_owned(), "x".to_owned()], timeout_seconds: 1 })
        };
        let known = Candidates {
            profiles: vec![name("codex")],
            missing: vec![(name("gemini"), "no gemini".into()), (name("qwen"), "no qwen".into())],
            search_path: Some("/nowhere".into()),
            ..Candidates::default()
        };
        let mut steps = vec![
            Step { gate: gate("/nowhere/check"), ..Step::new(name("a"), "codex", &[]) },
            Step::new(name("b"), "gemini", &[]),
            Step { gate: gate("/nowhere/check"), ..Step::new(name("c"), "gemini", &[]) },
        ];
        steps[1].fallback = vec!["codex".into(), "qwen".into()];
        let plan = Plan { name: "w".into(), prompts: vec![String::new(); 3], steps };
        assert_eq!(
            missing_programs(&plan, &known),
            [
                "the program `/nowhere/check` does not exist: install it, or correct the gate",
                "no gemini",
                "no qwen",
            ]
        );
        assert!(missing_programs(&plan, &known.all_installed()).is_empty());
    }
}
