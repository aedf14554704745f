//! Why something about a workflow was not done.

use super::plan::Problems;
use super::plan::toml_plan::FileError;
use crate::bus::BusError;
use crate::bus::rules::Refusal;
use crate::team::TeamError;

/// Why something about a workflow was not done.
#[derive(Debug, thiserror::Error)]
pub enum WorkflowError {
    /// The plan cannot run.
    #[error(transparent)]
    Plan(#[from] Problems),
    /// The plan file cannot be read, or its plan cannot run.
    #[error(transparent)]
    File(#[from] FileError),
    /// Its gates come from a plan file that has changed, so the user cannot say yes to them.
    #[error(
        "its gates come from the plan {place:?}, which has changed since or is gone, and your \
         user's approval of the original does not count here. Cancel it with `cancel_workflow`, \
         and create it from the current plan with `create_workflow`"
    )]
    PlanChanged {
        /// Where the file is, or was, in the project.
        place: String,
    },
    /// The bus refused or failed.
    #[error(transparent)]
    Bus(#[from] BusError),
    /// The team refused or failed.
    #[error(transparent)]
    Team(#[from] TeamError),
}

impl WorkflowError {
    /// Says whether something could not be read, which may go away by itself.
    pub(super) fn is_unreadable(&self) -> bool {
        match self {
            Self::Team(TeamError::UnreadableYes { .. }) => true,
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
