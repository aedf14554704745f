//! The names under which an agent's model finds our tools.

/// The name of our MCP server, as agents are told it.
pub const SERVER: &str = "bridge";

/// The tools of the endpoint, in the order in which they are told.
pub const ENDPOINT_TOOLS: [&str; 6] = [
    "check_messages",
    "send_message",
    "request_task",
    "claim_request",
    "list_agents",
    "wait_for_message",
];
