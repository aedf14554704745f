//! The errors of workflows.

use super::plan::Problems;
use super::plan::toml_plan::FileError;
use crate::bus::BusError;
use crate::bus::rules::Refusal;
use crate::domain::ids::WorkflowId;
use crate::team::TeamError;

#[derive(Debug, thiserror::Error)]
pub enum WorkflowError {
    /// The plan cannot run.
    #[error(transparent)]
    Plan(#[from] Problems),
    /// The plan file cannot be read, or its plan cannot run.
    #[error(transparent)]
    File(#[from] FileError),
    /// Its gates come from a plan file that has changed, so the user cannot approve them.
    #[error(
        "its gates come from the plan {place:?}, which has changed since or is gone, and your \
         user's approval of the original does not count here. Cancel it with `cancel_workflow`, \
         and create it from the current plan with `create_workflow`"
    )]
    PlanChanged {
        /// The file's place in the project.
        place: String,
    },
    /// A script played its agents so far.
    #[error(
        "`{id}` was a trial, in which a script played the agents, so real agents do not continue \
         it. End it with `cancel_workflow`, and run its plan anew"
    )]
    Trial { id: WorkflowId },
    #[error(transparent)]
    Bus(#[from] BusError),
    #[error(transparent)]
    Team(#[from] TeamError),
}

impl WorkflowError {
    /// Returns whether a file could not be read, which may pass by itself.
    pub(super) fn is_unreadable(&self) -> bool {
        match self {
            Self::Team(TeamError::UnreadableApproval { .. }) => true,
            Self::File(error) => error.is_fault(),
            _ => false,
        }
    }
}

impl From<Refusal> for WorkflowError {
    fn from(refusal: Refusal) -> Self {
        Self::Bus(refusal.into())
    }
}
