//! A plan as its caller wrote it, before all checks.

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
