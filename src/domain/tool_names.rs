//! The names of our MCP server and its tools, as agents and their models see them.

/// The name of our MCP server.
pub const SERVER: &str = "bridge";

/// The tools of the endpoint, in the order of `tools/list`.
pub const ENDPOINT_TOOLS: [&str; 8] = [
    "check_messages",
    "send_message",
    "request_task",
    "claim_request",
    "update_claim",
    "list_agents",
    "wait_for_message",
    "acknowledge",
];

/// The tools that only an orchestrator has, in the order of `tools/list`.
pub const LEADING_TOOLS: [&str; 14] = [
    "assign_task",
    "get_task_status",
    "get_task_result",
    "cancel_task",
    "create_workflow",
    "get_workflow_status",
    "cancel_workflow",
    "resume_workflow",
    "approve_step",
    "get_agent_status",
    "answer_permission",
    "broadcast",
    "shutdown_agent",
    "kill_agent",
];
