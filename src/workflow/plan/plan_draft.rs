//! A plan as its caller wrote it, before all checks.

use crate::domain::limits;

/// A step as its author wrote it.
#[derive(Clone, Debug, Default)]
pub struct StepDraft {
    /// Its name; by default that of its agent.
    pub name: Option<String>,
    /// A profile, or a live agent.
    pub agent: String,
    /// What to do, with placeholders.
    pub prompt: String,
    pub model: Option<String>,
    /// The machine on which its agent is started, or the name of the bridge there.
    pub host: Option<String>,
    /// The names of the steps that must be done first.
    pub depends_on: Vec<String>,
    /// A condition on an earlier step; if it does not hold, this step is not needed.
    pub when: Option<String>,
    /// The list in the output of an earlier step; this step runs once for each item.
    pub for_each: Option<String>,
    /// The time limit of an attempt.
    pub timeout_seconds: Option<u64>,
    /// How many further attempts it has.
    pub retries: Option<u64>,
    /// The agents to try next, each when the one before is missing, out of quota, or has crashed.
    pub fallback: Vec<String>,
    /// Whether each attempt begins a new session of the agent.
    pub fresh: bool,
    /// Whose approval it needs before it begins.
    pub approve: Option<String>,
    /// A program and its arguments that must succeed once the task is done.
    pub gate: Vec<String>,
    /// The time limit of the gate.
    pub gate_seconds: Option<u64>,
    /// How many times the step runs at most until its gate succeeds.
    pub repeat: Option<u64>,
    /// The earlier steps that are repeated with it.
    pub repeat_steps: Vec<String>,
}

/// A workflow as its author wrote it.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// Its name, for people.
    pub name: String,
    /// The steps in any order.
    pub steps: Vec<StepDraft>,
}

impl Draft {
    /// Returns a name for a workflow that its author gave none: the names of its steps.
    pub fn name_of(steps: &[StepDraft]) -> String {
        let names = steps.iter().map(|step| step.name.as_deref().unwrap_or(&step.agent));
        // An invalid name of a step is a problem of that step, and of nothing else.
        let names = names.map(str::trim).filter(|name| !name.is_empty());
        let names: Vec<_> = names.take(limits::WORKFLOW_NAME_CHARS).collect();
        let mut name = names.join(", ").replace(char::is_control, "");
        if let Some((end, _)) = name.char_indices().nth(limits::WORKFLOW_NAME_CHARS - 1)
            && name.chars().nth(limits::WORKFLOW_NAME_CHARS).is_some()
        {
            name.truncate(end);
            name.push('…');
        }
        if name.trim().is_empty() { "unnamed".to_owned() } else { name }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workflow_without_a_name_is_named_after_its_steps() {
        let step = |name: Option<&str>, agent: &str| StepDraft {
            name: name.map(str::to_owned),
            agent: agent.to_owned(),
            ..StepDraft::default()
        };
        let name = Draft::name_of(&[step(Some("write"), "codex"), step(None, "gemini")]);
        assert_eq!(name, "write, gemini");
        assert_eq!(Draft::name_of(&[]), "unnamed");
        assert_eq!(Draft::name_of(&[step(None, "\n\u{1b}")]), "unnamed");
        let long = Draft::name_of(&vec![step(None, "codex"); 40]);
        assert_eq!(long.chars().count(), limits::WORKFLOW_NAME_CHARS);
        assert!(long.ends_with('…'), "{long}");
    }
}
