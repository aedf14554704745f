//! `run`: a workflow from a plan file, without an MCP client. Progress goes to stderr, the outcome to stdout.
//!
//! This process leads the workflow as an orchestrator does. If it is interrupted or killed, the workflow waits for `--resume`, or
//! for another orchestrator.

mod follow_workflow;
mod lead_workflow;
mod live_screen;
mod missing_programs;
mod plan_drawing;
mod plan_order;
mod read_plan;
mod resumable_workflows;
mod run_arguments;
mod run_plan;
mod step_lines;
mod terminal_question;
mod tree;
mod words_for_user;

pub(in crate::cli::commands) use self::read_plan::{PROJECT_FILE, missing_file, read_plan};
pub(in crate::cli::commands) use self::resumable_workflows::can_be_resumed;
pub(crate) use self::run_arguments::RunArguments;
pub(crate) use self::run_plan::run;
