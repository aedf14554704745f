//! One step of a plan: the agent that does it, the steps before it, and what it needs to begin and to count as done.

use serde::{Deserialize, Serialize};

use super::condition::{Field, StepReference, When};
use crate::domain::ids::WorkflowId;
use crate::domain::name::Name;

/// A step of a plan, without its prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its name, unique in the plan.
    pub name: Name,
    /// Who does it: a profile, or a live agent.
    pub agent: String,
    /// The model asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The steps that have to be done before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Name>,
    /// What has to hold once they are over; else it is not needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// The list of which it does each item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_each: Option<StepReference>,
    /// Seconds after which an attempt is abandoned, counted from the beginning of its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
    /// How often it is tried again after a failure.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u32,
    /// Profiles and agents that are tried next when the one before is missing, out of quota, or has crashed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<String>,
    /// Whether each attempt begins a new session of the agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// Who has to approve before it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approve: Option<Approver>,
    /// What must hold once its task is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
    /// What follows when the gate does not hold.
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

/// A plan file of a project, as it was read. What its gates run needs the user's yes to these bytes at that place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanFile {
    /// Where it is in the project, without a link on the way.
    pub place: String,
    /// The SHA-256 of its bytes, in hexadecimal digits.
    pub sha256: String,
}

/// Steps that are done again until a gate holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeat {
    /// How often at the most, the first time included.
    pub times: u32,
    /// The steps besides its own, all of which come before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Name>,
}

/// Who approves a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approver {
    /// A person, by way of an orchestrator or at the command line.
    Human,
}

impl Approver {
    /// Returns what a word of a plan means.
    pub fn parse(word: &str) -> Option<Self> {
        (word == "human").then_some(Self::Human)
    }
}

impl Step {
    /// Makes a step that asks for nothing special.
    pub fn new(name: Name, agent: &str, depends_on: &[Name]) -> Self {
        Self {
            name,
            agent: agent.to_owned(),
            model: None,
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

    /// Makes the step that does one item of its list, counted from 1.
    #[must_use]
    pub fn for_item(&self, number: u32) -> Self {
        Self { name: self.name.item(number), for_each: None, approve: None, ..self.clone() }
    }

    /// Says whether it looks at how a step ended, and so begins also when that did not end well.
    pub fn looks_at_end_of(&self, name: &Name) -> bool {
        let when = self.when.as_ref();
        when.is_some_and(|when| when.source.step == *name && when.source.field == Field::Status)
    }
}

/// Names a step of a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepOf {
    pub workflow: WorkflowId,
    pub step: Name,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}
