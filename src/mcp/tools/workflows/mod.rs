//! Tools that create workflows and follow them.

pub(crate) mod approve_step;
pub(crate) mod cancel_workflow;
pub(crate) mod create_workflow;
pub(crate) mod get_workflow_status;
pub(crate) mod resume_workflow;
