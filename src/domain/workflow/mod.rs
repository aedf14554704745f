//! Workflows: the statuses of a workflow and of its steps, and the moves that a step can make.

mod condition;
mod step;

use serde::{Deserialize, Serialize};

pub use condition::{Field, Relation, StepReference, When};
pub use step::{Approver, Gate, PlanFile, Repeat, Step, StepOf};

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

/// Where a workflow stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkflowStatus {
    /// Its owner is at it.
    Running,
    /// Its owner has left; any orchestrator can resume it.
    Interrupted,
    /// Every step is done, or not needed.
    Done,
    /// A step has failed or was cancelled by itself.
    Failed,
    /// Somebody asked for its end.
    Cancelled,
}

impl WorkflowStatus {
    /// Returns the word that tools show.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns how the workflow is spoken of in a sentence: it "has failed".
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Running => "is running",
            Self::Interrupted => "is interrupted",
            Self::Done => "is done",
            Self::Failed => "has failed",
            Self::Cancelled => "was cancelled",
        }
    }

    /// Says whether nothing more will happen to the workflow.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Running | Self::Interrupted)
    }
}

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

/// Says how a workflow ended whose steps stand so, or nothing when some step is not over.
pub fn outcome(
    steps: impl IntoIterator<Item = StepStatus>,
    cancel_asked: bool,
) -> Option<WorkflowStatus> {
    let mut outcome = WorkflowStatus::Done;
    for status in steps {
        if !status.is_final() {
            return None;
        }
        if !status.lets_others() {
            outcome = WorkflowStatus::Failed;
        }
    }
    // Whoever cancels what has just ended well gets what was done.
    if cancel_asked && outcome == WorkflowStatus::Failed {
        outcome = WorkflowStatus::Cancelled;
    }
    Some(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workflow_ends_with_its_last_step_and_as_its_worst() {
        use StepStatus::{Cancelled, Done, Failed, Running, Skipped, Unneeded};
        assert_eq!(outcome([Done, Running], false), None);
        assert_eq!(outcome([Done, Done], true), Some(WorkflowStatus::Done));
        let unneeded = outcome([Done, Unneeded], false);
        assert_eq!(unneeded, Some(WorkflowStatus::Done));
        let failed = outcome([Done, Failed, Skipped], false);
        assert_eq!(failed, Some(WorkflowStatus::Failed));
        let cancelled = outcome([Done, Cancelled], true);
        assert_eq!(cancelled, Some(WorkflowStatus::Cancelled));
    }
}
