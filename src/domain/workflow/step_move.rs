//! What happens to a step after its beginning, or instead of it, and where it stands then.

use serde::{Deserialize, Serialize};

use super::step_status::StepStatus;

/// Why a step waits once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Again {
    /// Its attempt failed, and it may be tried again.
    Retry,
    /// The gate of the step, or of one that names it, did not hold.
    Repeat,
    /// The agent cannot do it now: the next one named for it is tried.
    Fallback,
    /// Whoever led the workflow ended meanwhile: that attempt does not count.
    Interrupted,
}

/// What happens to a step after its beginning, or instead of it. Texts say why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepMove {
    /// It can begin as soon as somebody approves.
    Ask,
    /// Its task ended well.
    Finish,
    /// Its task failed, or could not be given to anybody; it is not tried again.
    Fail(String),
    /// Its attempt failed, and it waits for the next.
    Again(Again, String),
    /// Somebody asked for its end.
    Cancel(String),
    /// What it is done for does not hold.
    Pass(String),
    /// Something that it depends on did not end well.
    Skip(String),
}

impl StepMove {
    /// Returns where the step stands afterwards.
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

    /// Returns why.
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
