//! The words that models use for an argument when they guess its name, with the names that our tools have for it.
//!
//! A typo is found by its letters; these have none in common with the argument that is meant.

/// Each group of words, and the arguments that it may stand for: the first one that a tool has is meant.
const SYNONYMS: [(&[&str], &[&str]); 20] = [
    (
        &["recipient", "recipients", "receiver", "target", "agent", "agent_name", "member", "who"],
        &["to", "agent", "agent_id", "from"],
    ),
    (
        &["message", "text", "body", "msg", "question", "answer_text"],
        &["content", "prompt", "description"],
    ),
    (
        &["task", "instructions", "instruction", "work", "job", "request", "goal", "query"],
        &["prompt", "description", "content"],
    ),
    (&["content", "prompt", "description"], &["content", "prompt", "description"]),
    (&["profile", "worker", "assignee", "to", "agent_id", "name"], &["agent", "to"]),
    (&["sender", "from_agent", "from"], &["from", "agent_id"]),
    (&["agent_id", "session", "alias"], &["name"]),
    (&["in_reply_to", "thread", "thread_id", "message_id"], &["reply_to", "id"]),
    (&["id", "uuid", "key"], &["task_id", "request_id", "permission_id", "workflow_id"]),
    (&["id", "message_id", "message_ids", "messages"], &["ids"]),
    (&["request_id"], &["id"]),
    (&["urgent", "urgency", "importance"], &["priority"]),
    (&["directory", "dir", "folder", "workdir", "working_directory", "path"], &["cwd", "file"]),
    (&["ttl", "deadline", "expires_in"], &["ttl_seconds", "timeout_seconds"]),
    (&["block", "blocking", "sync", "await"], &["wait"]),
    (&["policy", "permission", "permission_mode", "mode"], &["permissions"]),
    (&["answer", "response", "verdict", "outcome", "approve"], &["decision", "approved"]),
    (&["plan", "stages", "tasks", "nodes"], &["steps", "file"]),
    (&["after", "needs", "requires", "dependencies", "deps"], &["depends_on"]),
    (&["if", "condition"], &["when"]),
];

/// Returns the argument that a word stands for, among those that the call may still have.
pub(super) fn meant<'a>(word: &str, free: &[&'a str]) -> Option<&'a str> {
    let words = SYNONYMS.iter().filter(|(words, _)| words.contains(&word));
    let mut arguments = words.flat_map(|(_, arguments)| *arguments);
    arguments.find_map(|argument| free.iter().find(|name| *name == argument).copied())
}

/// Says which other tool does what an argument asks of one that does not have it.
pub(super) fn other_tool(owner: &str, word: &str) -> Option<&'static str> {
    let waits = ["wait", "block", "blocking", "await", "sync", "wait_seconds", "timeout_seconds"];
    let is_asked =
        matches!(owner, "`get_task_result`" | "`get_task_status`") && waits.contains(&word);
    is_asked.then_some(
        "it returns at once. wait_for_message waits for the notice that the task has ended, and assign_task with `wait` for its result",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stands_for_the_argument_that_the_tool_has() {
        assert_eq!(meant("recipient", &["content", "to"]), Some("to"));
        assert_eq!(meant("recipient", &["agent", "prompt"]), Some("agent"));
        assert_eq!(meant("message", &["prompt", "agent"]), Some("prompt"));
        assert_eq!(meant("message", &["content"]), Some("content"));
        assert_eq!(meant("task", &["agent", "prompt"]), Some("prompt"));
        assert_eq!(meant("task", &["task_id"]), None);
        assert_eq!(meant("zebra", &["to"]), None);
    }

    #[test]
    fn a_tool_that_does_not_wait_names_those_that_do() {
        assert!(other_tool("`get_task_result`", "wait").unwrap().contains("wait_for_message"));
        assert_eq!(other_tool("`get_task_result`", "zebra"), None);
        assert_eq!(other_tool("`send_message`", "wait"), None);
    }
}
