//! Workflows: steps of several agents, whose outputs flow from one to the next.
//!
//! [`plan`] checks a caller's draft and lists all its problems at once. [`next_actions`] is a pure function from the state to the
//! next actions. [`Workflows`] performs them for one bridge: it assigns steps to agents and notices their ends. All lasting state
//! is on the bus, so the next orchestrator can continue if one is killed. This module knows nothing of MCP and of terminals.
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
