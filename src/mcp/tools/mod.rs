//! The MCP tools: one file per tool, with the name of the tool.

pub(crate) mod agents;
pub mod endpoint_tools;
pub(crate) mod messaging;
pub mod orchestrator_tools;
pub(crate) mod tasks;
pub(crate) mod workflows;
