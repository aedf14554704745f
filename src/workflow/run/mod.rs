//! Runs a workflow: decides the next actions, and performs them.

pub(crate) mod blocker;
pub mod input_source;
pub mod next_actions;
pub(crate) mod placed_steps;
pub(crate) mod prompt_templates;
pub(crate) mod runner;
pub(crate) mod start_step;
pub(crate) mod step_inputs;
pub(crate) mod step_output;
pub(crate) mod step_prompt;
pub mod upcoming_prompt;
