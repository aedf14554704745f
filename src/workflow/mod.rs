//! Workflows: steps of several agents, whose outputs flow from one to the next.
//!
//! [`plan`] checks what a caller wrote, all problems at once. [`next_actions`] is a pure function from what the log says to what happens
//! next. [`Workflows`] does it for one bridge: it gives steps to agents and hears of their ends. All that lasts is on the bus, so
//! the next orchestrator can go on where one was killed. This module knows nothing of MCP and of terminals.
//!
//! [`plan`]: crate::workflow::plan
//! [`next_actions`]: crate::workflow::run::next_actions
//! [`Workflows`]: crate::workflow::Workflows

pub mod plan;
mod control;
mod error;
mod gate_consent;
pub mod run;

pub use self::control::Workflows;
pub use self::error::WorkflowError;
pub use self::plan::evaluate_condition::ConditionResult;
