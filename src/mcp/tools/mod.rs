//! The MCP tools: one file a tool, named as the tool is.

pub(crate) mod agents;
pub mod endpoint_tools;
pub(crate) mod messaging;
pub mod orchestrator_tools;
pub(crate) mod tasks;
pub(crate) mod workflows;
