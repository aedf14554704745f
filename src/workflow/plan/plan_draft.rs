//! A plan as its caller wrote it, before any check.

/// A step as it was written.
#[derive(Clone, Debug, Default)]
pub struct StepDraft {
    /// Its name; else it is called after its agent.
    pub name: Option<String>,
    /// A profile, or a live agent.
    pub agent: String,
    /// What to do, with placeholders.
    pub prompt: String,
    /// The model to use.
    pub model: Option<String>,
    /// The names of the steps that have to be done before.
    pub depends_on: Vec<String>,
    /// A condition on a step before; if it does not hold, this one is not needed.
    pub when: Option<String>,
    /// The list in the output of a step before, for each item of which this one is done.
    pub for_each: Option<String>,
    /// How long an attempt may take.
    pub timeout_seconds: Option<u64>,
    /// How often it is tried again.
    pub retries: Option<u64>,
    /// Who is tried next when the one before is missing, out of quota, or has crashed.
    pub fallback: Vec<String>,
    /// Whether each attempt begins a new session of the agent.
    pub fresh: bool,
    /// Who has to approve before it begins.
    pub approve: Option<String>,
    /// A program and its arguments that must succeed once the task is done.
    pub gate: Vec<String>,
    /// How long that may take.
    pub gate_seconds: Option<u64>,
    /// How often the step is done at the most until its gate holds.
    pub repeat: Option<u64>,
    /// The steps before it that are done again with it.
    pub repeat_steps: Vec<String>,
}

/// A workflow as it was written.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// What it is called, for people.
    pub name: String,
    /// The steps in any order.
    pub steps: Vec<StepDraft>,
}
