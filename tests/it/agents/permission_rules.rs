//! The rules judge all that an agent has sent about a call, not only its permission request.

use serde_json::json;

use crate::support::Stage;

const AGENTS: &str = r#"
[[agents.default.turns]]
when = "Your task: begun"
steps = [
  { ask_permission = "settings", kind = "edit", paths = [".claude/settings.json"], call_id = "long", on_reject = "go_on", save = "a" },
  { say = "{{a.option}}" },
]
[[agents.default.turns]]
when = "Your task: gone on with"
steps = [
  { ask_permission = "code", kind = "edit", paths = ["src/main.rs"], call_id = "long", unannounced = true, on_reject = "go_on", save = "a" },
  { ask_permission = "other code", kind = "edit", paths = ["src/main.rs"], save = "b" },
  { say = "{{a.option}} {{b.option}}" },
]
[[agents.default.turns]]
when = "Your task: elsewhere"
steps = [
  { raw = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"tool_call","toolCallId":"move","kind":"edit","rawInput":{"file_path":"src/main.rs","destination":".git/hooks/pre-commit","note":"harmless"}}}}' },
  { ask_permission = "move", kind = "edit", paths = ["src/main.rs"], call_id = "move", on_reject = "go_on", save = "a" },
  { raw = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"tool_call","toolCallId":"inside","kind":"edit","rawInput":{"file_path":"src/main.rs","destination":"src/b.rs"}}}}' },
  { ask_permission = "inside", kind = "edit", paths = ["src/main.rs"], call_id = "inside", save = "b" },
  { raw = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"tool_call","toolCallId":"unnamed","kind":"edit","rawInput":{"destination":"src/b.rs"}}}}' },
  { ask_permission = "unnamed", kind = "edit", call_id = "unnamed", on_reject = "go_on", save = "c" },
  { say = "{{a.option}} {{b.option}} {{c.option}}" },
]
[[agents.default.turns]]
when = "Your task: first"
steps = [
  { raw = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"tool_call","toolCallId":"call_0","kind":"execute","rawInput":{"command":"x"}}}}' },
  { raw = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"call_0","status":"completed"}}}' },
  { say = "done" },
]
[[agents.default.turns]]
when = "Your task: second"
steps = [
  { raw = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"tool_call","toolCallId":"call_0","kind":"edit","rawInput":{"file_path":"src/main.rs"}}}}' },
  { ask_permission = "code", kind = "edit", paths = ["src/main.rs"], call_id = "call_0", on_reject = "go_on", save = "a" },
  { say = "{{a.option}}" },
]
[[agents.default.turns]]
when = "Your task: misshapen"
steps = [
  { raw = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"tool_call","toolCallId":"list","kind":"edit","locations":"/etc/passwd"}}}' },
  { ask_permission = "list", kind = "edit", paths = ["src/main.rs"], call_id = "list", on_reject = "go_on", save = "a" },
  { raw = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"tool_call","toolCallId":"kind","kind":["execute"]}}}' },
  { ask_permission = "kind", kind = "edit", paths = ["src/main.rs"], call_id = "kind", on_reject = "go_on", save = "b" },
  { raw = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"tool_call","toolCallId":"block","content":[{"type":"content","content":{"type":"resource_link","name":"x","uri":"file:///etc/passwd"}}]}}}' },
  { ask_permission = "block", kind = "edit", paths = ["src/main.rs"], call_id = "block", on_reject = "go_on", save = "c" },
  { raw = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"tool_call","toolCallId":"twice","kind":"execute","kind":"edit"}}}' },
  { ask_permission = "twice", kind = "edit", paths = ["src/main.rs"], call_id = "twice", on_reject = "go_on", save = "d" },
  { raw = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"tool_news","toolCallId":"news","locations":[{"path":"/etc/passwd"}]}}}' },
  { ask_permission = "news", kind = "edit", paths = ["src/main.rs"], call_id = "news", on_reject = "go_on", save = "e" },
  { raw = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"tool_call","toolCallId":"good","kind":"edit","content":[{"type":"content","content":{"type":"text","text":"/etc/passwd"}},{"type":"diff","path":"src/main.rs","oldText":null,"newText":"x"}],"rawInput":null}}}' },
  { ask_permission = "good", kind = "edit", paths = ["src/main.rs"], call_id = "good", on_reject = "go_on", save = "f" },
  { say = "{{a.option}} {{b.option}} {{c.option}} {{d.option}} {{e.option}} {{f.option}}" },
]
[[agents.default.turns]]
when = "Your task: ours"
steps = [
  { ask_permission = "mcp__bridge__check_messages", kind = "other", on_reject = "go_on", save = "a" },
  { say = "{{a.option}}" },
]
"#;

/// A stage whose agents' permission requests are rejected after a second.
fn stage(policy: &str) -> Stage {
    let profile =
        format!("[agents.scripted]\npermissions = \"{policy}\"\npermission_seconds = 1\n");
    Stage::new(AGENTS).with_profiles(&profile)
}

#[tokio::test]
async fn paths_that_a_call_named_in_an_earlier_turn_are_judged_in_a_later_one() {
    let stage = stage("rules");
    let lead = stage.orchestrator().await;
    assert_eq!(lead.start_and_wait("ann", "begun").await, "reject_once");
    let said = lead.assign_and_wait("ann", "gone on with").await;
    assert_eq!(said, "reject_once allow_once");
    let asked = stage.events_of("permission_asked");
    let both = json!([".claude/settings.json", "src/main.rs"]);
    assert_eq!(asked[1]["question"]["paths"], both, "{asked:?}");
    lead.close().await;
}

#[tokio::test]
async fn a_new_call_with_the_id_of_an_ended_one_is_judged_by_itself() {
    let stage = stage("rules");
    let lead = stage.orchestrator().await;
    assert_eq!(lead.start_and_wait("ann", "first").await, "done");
    assert_eq!(lead.assign_and_wait("ann", "second").await, "allow_once");
    lead.close().await;
}

#[tokio::test]
async fn a_path_under_an_unknown_argument_name_is_judged_too() {
    let stage = stage("rules");
    let lead = stage.orchestrator().await;
    let said = lead.start_and_wait("ann", "elsewhere").await;
    assert_eq!(said, "reject_once allow_once reject_once");
    let asked = stage.events_of("permission_asked");
    let paths: Vec<_> = asked.iter().map(|asked| &asked["question"]["paths"]).collect();
    let both = json!([".git/hooks/pre-commit", "src/main.rs"]);
    assert_eq!(paths, [&both, &json!(["src/b.rs"])]);
    lead.close().await;
}

#[tokio::test]
async fn a_call_with_a_malformed_message_is_asked_about() {
    let stage = stage("rules");
    let lead = stage.orchestrator().await;
    let said = lead.start_and_wait("ann", "misshapen").await;
    assert_eq!(said, format!("{}allow_once", "reject_once ".repeat(5)));
    lead.close().await;
}

#[tokio::test]
async fn bridge_tools_need_no_permission_where_the_agent_has_them() {
    let stage = stage("deny");
    let lead = stage.orchestrator().await;
    assert_eq!(lead.start_and_wait("ann", "ours").await, "allow_once");
    lead.close().await;
}
