//! Files that agents read and write through the bridge: only those of the project, and written only with permission.

use serde_json::json;

use super::permissions::{answer, answers, asked, pairs, with_outside_link};
use crate::support::Stage;

const AGENTS: &str = r#"
[[agents.default.turns]]
when = "Your task: files"
steps = [
  { write_file = "notes.txt", content = "one\ntwo\nthree\n" },
  { read_file = "notes.txt", line = 2, limit = 1, save = "two" },
  { read_file = "out/secret", expect_error = true },
  { write_file = "out/new", content = "x", expect_error = true },
  { read_file = "../home/outside/secret", expect_error = true },
  { read_file = ".claude/bridge/bus.json", expect_error = true },
  { read_file = "pipe", expect_error = true },
  { read_file = "missing", expect_error = true, save = "missing" },
  { say = "{{two.content}}{{missing.error}}" },
]
[[agents.default.turns]]
when = "Your task: hook"
steps = [
  { write_file = ".git/hooks/pre-commit", content = "one" },
  { write_file = ".git/hooks/pre-commit", content = "two", expect_error = true, save = "no" },
  { say = "{{no.error}}" },
]
[[agents.default.turns]]
when = "Your task: nothing"
steps = [
  { read_file = "notes.txt", expect_error = true, save = "no" },
  { say = "{{no.error}}" },
]
"#;

/// A stage whose agents may read and write files through the bridge.
fn stage_with_files(policy: &str) -> Stage {
    let profile = format!("[agents.scripted]\nfile_system = true\npermissions = \"{policy}\"\n");
    let stage = with_outside_link(Stage::new(AGENTS).with_profiles(&profile));
    std::fs::write(stage.home().join("outside/secret"), "secret").unwrap();
    std::fs::create_dir_all(stage.project().join(".git/hooks")).unwrap();
    let pipe = stage.project().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    stage
}

#[tokio::test]
async fn only_files_of_the_project_are_read_and_written() {
    let stage = stage_with_files("rules");
    let lead = stage.orchestrator().await;
    let said = lead.start_and_wait("ann", "files").await;
    assert!(said.starts_with("two\n") && said.contains("the file does not exist"), "{said}");
    let notes = std::fs::read_to_string(stage.project().join("notes.txt")).unwrap();
    assert_eq!(notes, "one\ntwo\nthree\n");
    assert!(!stage.home().join("outside/new").exists());
    assert_eq!(answers(&stage), pairs(&[("policy", "allow_once")]));
    lead.close().await;
}

#[tokio::test]
async fn a_file_is_written_only_if_the_policy_or_an_orchestrator_allows_it() {
    let stage = stage_with_files("rules");
    let hook = stage.project().join(".git/hooks/pre-commit");
    let lead = stage.orchestrator().await;
    let task = lead.start("ann", "hook").await;
    let question = asked(&lead, "ann", "write").await;
    assert_eq!(question["offers"], json!(["allow_once", "reject"]));
    assert!(!hook.exists());
    answer(&lead, &question, "allow_once").await;
    let again = lead
        .until("get_agent_status", json!({}), |all| {
            let next = &all["permissions"][0]["permission_id"];
            next.is_string() && *next != question["permission_id"]
        })
        .await;
    answer(&lead, &again["permissions"][0], "reject").await;
    assert_eq!(lead.done(&task).await, "this was not allowed");
    assert_eq!(std::fs::read_to_string(hook).unwrap(), "one");
    let deny = json!({ "agent": "ann", "prompt": "files", "permissions": "deny", "wait": true });
    let denied = lead.call("assign_task", deny).await;
    assert_eq!(denied["status"], "failed", "{denied}");
    assert!(!stage.project().join("notes.txt").exists());
    lead.close().await;
}

#[tokio::test]
async fn an_agent_without_file_access_gets_no_files() {
    let stage = Stage::new(AGENTS).with_profiles("[agents.scripted]\npermissions = \"allow\"\n");
    std::fs::write(stage.project().join("notes.txt"), "x").unwrap();
    let lead = stage.orchestrator().await;
    let said = lead.start_and_wait("ann", "nothing").await;
    assert_eq!(said, "the client does not offer `fs/read_text_file`");
    lead.close().await;
}
