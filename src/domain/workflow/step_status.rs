//! Where a step of a workflow stands, and what that means for those that depend on it.

use serde::{Deserialize, Serialize};

/// Where a step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// For its dependencies, or for a free place.
    Waiting,
    /// For a person's approval.
    Asking,
    /// It is an agent's task.
    Running,
    /// The task ended well.
    Done,
    /// The last attempt failed.
    Failed,
    /// What it is done for does not hold.
    Unneeded,
    /// Something that it depends on did not end well.
    Skipped,
    /// Somebody asked for its end.
    Cancelled,
}

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

    /// Returns how the step is spoken of in a sentence: it "has failed".
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

    /// Says whether nothing more will happen to the step.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Waiting | Self::Asking | Self::Running)
    }

    /// Says whether what depends on the step can run.
    pub fn lets_others(self) -> bool {
        matches!(self, Self::Done | Self::Unneeded)
    }

    /// Says whether what depends on the step can never run.
    pub fn stops_others(self) -> bool {
        matches!(self, Self::Failed | Self::Skipped | Self::Cancelled)
    }
}
