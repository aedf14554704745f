//! The names of our tools in the prompts and configurations of agents.

/// The name of our MCP server in the configuration of agents.
pub const SERVER: &str = "bridge";

/// The tools of the endpoint, in the order of `tools/list`.
pub const ENDPOINT_TOOLS: [&str; 6] = [
    "check_messages",
    "send_message",
    "request_task",
    "claim_request",
    "list_agents",
    "wait_for_message",
];
