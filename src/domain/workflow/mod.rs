//! Workflows: the statuses of a workflow and of its steps, the moves that a step can make, and what its prompt has beside its own words.

mod condition;
mod prompt_frames;
mod step;
mod step_move;
mod step_status;
mod workflow_status;

pub use self::condition::{Field, Relation, StepReference, When};
pub use self::prompt_frames::{
    framed_item, framed_output, framed_reason, laid_out, own_words, rest_of_output,
};
pub use self::step::{Approver, Gate, PlanFile, Repeat, Step, StepOf};
pub use self::step_move::{Again, StepMove};
pub use self::step_status::{REFUSED_BY_USER, StepStatus};
pub use self::workflow_status::{WorkflowStatus, outcome};
