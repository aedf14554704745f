//! The status of a workflow, and how its end follows from the ends of its steps.

use serde::{Deserialize, Serialize};

use super::step_status::StepStatus;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkflowStatus {
    /// Its owner runs it.
    Running,
    /// Its owner has left; any orchestrator can resume it.
    Interrupted,
    /// Every step is done, or not needed.
    Done,
    /// A step failed, or was cancelled by itself.
    Failed,
    /// A member cancelled it.
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

    /// Returns the status for a sentence: the workflow "has failed".
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Running => "is running",
            Self::Interrupted => "is interrupted",
            Self::Done => "is done",
            Self::Failed => "has failed",
            Self::Cancelled => "was cancelled",
        }
    }

    /// Says whether the status of the workflow can no longer change.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Running | Self::Interrupted)
    }
}

/// Returns how a workflow with these steps ended, or `None` while a step can still change.
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
    // A cancellation after the success of the last step changes nothing.
    if cancel_asked && outcome == WorkflowStatus::Failed {
        outcome = WorkflowStatus::Cancelled;
    }
    Some(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workflow_ends_with_its_last_step_and_its_worst_status() {
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
