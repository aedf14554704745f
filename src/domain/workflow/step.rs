//! One step of a plan: its agent, the steps before it, and the conditions for it to begin and to count as done.

use serde::{Deserialize, Serialize};

use super::condition::{Field, StepReference, When};
use crate::domain::ids::WorkflowId;
use crate::domain::is_zero::is_zero;
use crate::domain::name::Name;

/// A step of a plan, without its prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Unique in the plan.
    pub name: Name,
    /// A profile, a live agent, or a role as `@role`.
    pub agent: String,
    /// The requested model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The host that starts its agent: the name of a machine, or of the bridge there; none means the machine that runs the workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The steps that have to end before it begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Name>,
    /// The condition that has to hold once they are over; else the step is not needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// The list of items for which the step is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_each: Option<StepReference>,
    /// Seconds after which an attempt is abandoned, counted from the beginning of its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
    /// How often it is retried after a failure.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u32,
    /// Profiles and agents that are tried next if the one before is missing, out of quota, or has crashed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<String>,
    /// Whether each attempt begins a new session of the agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// Whose approval it needs to begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approve: Option<Approver>,
    /// The check that has to pass once its task is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
    /// The steps to repeat when the gate does not pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Repeat>,
}

/// A command that must exit with 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How long it may take.
    pub timeout_seconds: u64,
}

/// A plan file of a project, as it was read. Its gates run only with the user's consent to these bytes at that place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanFile {
    /// Its path in the project, with links resolved.
    pub place: String,
    /// The SHA-256 of its bytes, in hexadecimal digits.
    pub sha256: String,
}

/// Steps that are repeated until a gate passes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeat {
    /// The maximum number of rounds, including the first.
    pub times: u32,
    /// The steps besides its own, all of which come before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Name>,
}

/// Whose approval a step needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approver {
    /// A person's, through an orchestrator or on the command line.
    Human,
}

impl Approver {
    /// Parses a word of a plan.
    pub fn parse(word: &str) -> Option<Self> {
        (word == "human").then_some(Self::Human)
    }
}

impl Step {
    /// Makes a step with defaults.
    pub fn new(name: Name, agent: &str, depends_on: &[Name]) -> Self {
        Self {
            name,
            agent: agent.to_owned(),
            model: None,
            host: None,
            depends_on: depends_on.to_vec(),
            when: None,
            for_each: None,
            timeout_seconds: None,
            retries: 0,
            fallback: Vec::new(),
            fresh: false,
            approve: None,
            gate: None,
            repeat: None,
        }
    }

    /// Returns the agents that may be started where its workflow runs: a host has profiles and approvals of its own.
    pub fn agents_here(&self) -> impl Iterator<Item = &String> {
        let agent = Some(&self.agent).filter(|_| self.host.is_none());
        agent.into_iter().chain(&self.fallback)
    }

    /// Makes the step for one item of its list, counted from 1.
    #[must_use]
    pub fn for_item(&self, number: u32) -> Self {
        Self { name: self.name.item(number), for_each: None, approve: None, ..self.clone() }
    }

    /// Says whether it refers to the end of a step, and so begins even if that step did not succeed.
    pub fn looks_at_end_of(&self, name: &Name) -> bool {
        let when = self.when.as_ref();
        when.is_some_and(|when| when.source.step == *name && when.source.field == Field::Status)
    }
}

/// Identifies a step of a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepOf {
    pub workflow: WorkflowId,
    pub step: Name,
}
