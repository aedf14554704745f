//! The status of a step of a workflow, and its effect on the steps that depend on it.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// It waits for its dependencies, or for a free slot.
    Waiting,
    /// It waits for a person's approval.
    Asking,
    /// An agent works on it as a task.
    Running,
    /// Its task succeeded.
    Done,
    /// The last attempt failed.
    Failed,
    /// Its condition does not hold.
    Unneeded,
    /// A step that it depends on did not succeed.
    Skipped,
    /// A member cancelled it.
    Cancelled,
}

/// Why a step was cancelled that its user has refused; a reason follows.
pub const REFUSED_BY_USER: &str = "refused by the user";

impl StepStatus {
    /// How a step can end.
    pub const ENDS: [Self; 5] =
        [Self::Done, Self::Failed, Self::Unneeded, Self::Skipped, Self::Cancelled];

    /// Returns the word that tools show.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Asking => "asking",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Unneeded => "unneeded",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns the status for a sentence: the step "has failed".
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Waiting => "is waiting",
            Self::Asking => "is asking for approval",
            Self::Running => "is running",
            Self::Done => "is done",
            Self::Failed => "has failed",
            Self::Unneeded => "is not needed",
            Self::Skipped => "was skipped",
            Self::Cancelled => "was cancelled",
        }
    }

    /// Says whether the status of the step can no longer change.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Waiting | Self::Asking | Self::Running)
    }

    /// Says whether the steps that depend on it can run.
    pub fn lets_others(self) -> bool {
        matches!(self, Self::Done | Self::Unneeded)
    }

    /// Says whether the steps that depend on it can never run.
    pub fn stops_others(self) -> bool {
        matches!(self, Self::Failed | Self::Skipped | Self::Cancelled)
    }
}
