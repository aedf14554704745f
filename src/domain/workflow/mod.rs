//! Workflows: the statuses of a workflow and of its steps, and the moves that a step can make.

mod condition;
mod step;
mod step_move;
mod step_status;
mod workflow_status;

pub use self::condition::{Field, Relation, StepReference, When};
pub use self::step::{Approver, Gate, PlanFile, Repeat, Step, StepOf};
pub use self::step_move::{Again, StepMove};
pub use self::step_status::{REFUSED_BY_USER, StepStatus};
pub use self::workflow_status::{WorkflowStatus, outcome};
