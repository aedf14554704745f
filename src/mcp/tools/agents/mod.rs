//! Tools that show agents, answer their questions, and end them.

pub(crate) mod answer_permission;
pub(crate) mod get_agent_status;
pub(crate) mod kill_agent;
pub(crate) mod shutdown_agent;
