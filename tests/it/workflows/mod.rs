//! Workflows over MCP with real processes.

pub(crate) mod agent_limit;
pub(crate) mod by_role;
pub(crate) mod each_engine;
pub(crate) mod over_mcp;
pub(crate) mod resume_after_kill;
pub(crate) mod resume_conversations;
pub(crate) mod trials;
pub(crate) mod when_and_for_each;
