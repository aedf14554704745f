//! Workflows and the progress of their steps.

mod workflow;
mod step_run;
mod create_and_end;

pub use self::step_run::StepRun;
pub use self::workflow::{Readiness, Workflow};
