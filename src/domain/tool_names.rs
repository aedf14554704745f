//! The names of our MCP server and its tools, as agents and their models see them.

/// The name of our MCP server.
pub const SERVER: &str = "bridge";

/// The tools of the endpoint, in the order of `tools/list`.
pub const ENDPOINT_TOOLS: [&str; 8] = [
    "check_messages",
    "send_message",
    "request_task",
    "claim_request",
    "list_agents",
    "wait_for_message",
    "acknowledge",
    "update_claim",
];
