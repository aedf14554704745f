//! The moves of a step once it has begun, or instead of beginning, and the status after each.

use serde::{Deserialize, Serialize};

use super::step_status::StepStatus;

/// Why a step waits for another attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Again {
    /// Its attempt failed, and it may be retried.
    Retry,
    /// The gate of the step, or of one that names it, did not pass.
    Repeat,
    /// The agent cannot do it now: the next fallback is tried.
    Fallback,
    /// The owner of the workflow ended meanwhile. That attempt does not count.
    Interrupted,
}

/// A move of a step once it has begun, or instead of beginning. The texts are reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepMove {
    /// It can begin as soon as it is approved.
    Ask,
    /// Its task succeeded.
    Finish,
    /// Its task failed, or no agent could be assigned to it. There is no further attempt.
    Fail(String),
    /// Its attempt failed, and it waits for the next one.
    Again(Again, String),
    /// A member cancelled it.
    Cancel(String),
    /// Its condition does not hold.
    Pass(String),
    /// A step that it depends on did not succeed.
    Skip(String),
}

impl StepMove {
    /// Returns the status of the step after the move.
    pub fn status(&self) -> StepStatus {
        match self {
            Self::Ask => StepStatus::Asking,
            Self::Finish => StepStatus::Done,
            Self::Fail(_) => StepStatus::Failed,
            Self::Again(..) => StepStatus::Waiting,
            Self::Cancel(_) => StepStatus::Cancelled,
            Self::Pass(_) => StepStatus::Unneeded,
            Self::Skip(_) => StepStatus::Skipped,
        }
    }

    /// Returns the reason.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Ask | Self::Finish => None,
            Self::Fail(why)
            | Self::Again(_, why)
            | Self::Cancel(why)
            | Self::Pass(why)
            | Self::Skip(why) => Some(why),
        }
    }
}
