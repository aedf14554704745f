//! The fields of a result besides its output: files, failed calls, tokens and cost, and errors as data.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::{DEADLINE, Raw, Stage, until};

const AGENTS: &str = r#"
[[agents.worker.turns]]
steps = [
  { say = "I look around. " },
  { wait_for = { from = "gate", seconds = 100 } },
  { write_file = "made.txt", content = "new" },
  { write_file = "kept.txt", content = "other" },
  { raw = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"tool_call","toolCallId":"e1","title":"Edit kept.txt","kind":"edit","status":"completed","locations":[{"path":"kept.txt"}]}}}' },
  { raw = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"tool_call","toolCallId":"x1","title":"make","kind":"execute","status":"failed","content":[{"type":"content","content":{"type":"text","text":"no rule to make"}}]}}}' },
  { raw = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"usage_update","used":900,"size":1000,"cost":{"amount":0.25,"currency":"USD"}}}}' },
  { say = "It is done." },
]

[[agents.plain.turns]]
steps = [{ say = "nothing changed" }]

[[agents.locked.turns]]
when = "Your task: login"
steps = [{ fail = "401 the key is not valid" }]
[[agents.locked.turns]]
when = "Your task: quota"
steps = [{ fail = "429 Too Many Requests: try again in 2 hours" }]
[[agents.locked.turns]]
when = "Your task: model"
steps = [{ fail = "there is no such model" }]
[[agents.locked.turns]]
when = "Your task: hang"
steps = [{ say = "for ever" }, { hang = true }]
[[agents.locked.turns]]
when = "Your task: stubborn"
steps = [{ ignore_cancel = true }, { say = "never" }, { hang = true }]

[agents.outside.start]
stderr = "Not logged in: authentication required"
crash = 3
"#;

const PROFILES: &str = r#"
[limits]
stall_seconds = 1
[agents.filer]
command = "$self"
args = ["scripted-agent"]
env_pass = ["BRIDGE_SCRIPT"]
file_system = true
login = "turn the key"
"#;

pub(crate) fn git(project: &Path, home: &Path, arguments: &[&str]) {
    let author = ["-c", "user.name=ann", "-c", "user.email=ann@example.org"];
    let output = Command::new("git")
        .args(author)
        .args(arguments)
        .current_dir(project)
        .env("HOME", home)
        .output()
        .expect("git is there");
    assert!(output.status.success(), "{output:?}");
}

/// Waits until git has looked at the project for a task.
pub(crate) async fn until_git_has_looked(stage: &Stage, task: &str) {
    let transcript = stage.bus().join(format!("tasks/{task}.jsonl"));
    until("git has looked", || {
        let text = std::fs::read_to_string(&transcript).unwrap_or_default();
        text.contains(r#""kind":"git""#)
    })
    .await;
}

/// Checks that git compared the project before and after a task. On a busy machine the agent starts before git has looked, which the
/// result says; these tests let it change files only afterwards.
pub(crate) fn check_compared(result: &Value) {
    const EARLY_AGENT: &str =
        "the agent started before git's first look, so its first changes may be missing";
    let git = result["git"].as_str().unwrap_or_default();
    assert!(["compared", EARLY_AGENT].contains(&git), "{result}");
}

async fn start_filer(lead: &crate::support::Member, name: &str, prompt: &str) -> String {
    let new = json!({ "agent": "filer", "name": name, "prompt": prompt });
    let task = lead.call("assign_task", new).await;
    task["task_id"].as_str().unwrap().to_owned()
}

fn paths(result: &Value) -> Vec<(String, String, Value)> {
    let files = result["files"].as_array().unwrap().iter();
    let text = |file: &Value, key: &str| file[key].as_str().unwrap().to_owned();
    files.map(|file| (text(file, "path"), text(file, "change"), file["sources"].clone())).collect()
}

#[tokio::test]
async fn a_result_lists_files_failed_calls_tokens_cost_and_the_last_words() {
    let stage = Stage::new(AGENTS).with_profiles(PROFILES);
    let (project, home) = (stage.project(), stage.home());
    for (file, text) in [("kept.txt", "one"), ("dirty.txt", "one")] {
        std::fs::write(project.join(file), text).unwrap();
    }
    git(project, home, &["init", "-q"]);
    git(project, home, &["add", "."]);
    git(project, home, &["commit", "-qm", "first"]);
    std::fs::write(project.join("dirty.txt"), "two, before").unwrap();
    let lead = stage.orchestrator().await;
    let gate = stage.peer("gate").await;
    let task = start_filer(&lead, "worker", "work").await;
    lead.until_waiting("worker").await;
    until_git_has_looked(&stage, &task).await;
    // Another process works and commits too: git cannot tell whose changes are whose.
    for number in 0..100 {
        let name = format!("{number:0>150}");
        std::fs::write(project.join(name), "x").unwrap();
    }
    std::fs::write(project.join("committed.txt"), "x").unwrap();
    git(project, home, &["add", "committed.txt"]);
    git(project, home, &["commit", "-qm", "second"]);
    gate.send("worker", "go on").await;

    let result = lead.ended(&task).await;
    assert_eq!(result["status"], "done", "{result}");
    let output = result["output"].as_str().unwrap();
    assert_eq!(output, "I look around. \n\nIt is done.");
    let last = usize::try_from(result["last_words_offset"].as_u64().unwrap()).unwrap();
    assert_eq!(&output[last..], "It is done.");
    check_compared(&result);
    assert_eq!(result["files_total"], 103, "{result}");
    let mut files = paths(&result);
    let mut next = result["next_list_offset"].clone();
    assert!(next.is_u64(), "one answer does not list them all: {result}");
    while next.is_u64() {
        let more = json!({ "task_id": task, "list_offset": next });
        let rest = lead.call("get_task_result", more).await;
        files.extend(paths(&rest));
        next = rest["next_list_offset"].clone();
    }
    assert_eq!(files.len(), 103);
    let own = &files[100..];
    let expected = [
        ("committed.txt", "created", json!(["git"])),
        ("kept.txt", "edited", json!(["tool_call", "git"])),
        ("made.txt", "created", json!(["git"])),
    ];
    for ((path, change, sources), expected) in own.iter().zip(expected) {
        assert_eq!(
            (path.as_str(), change.as_str(), sources),
            (expected.0, expected.1, &expected.2)
        );
    }
    let failed = json!([{ "title": "make", "kind": "execute", "why": "no rule to make" }]);
    assert_eq!(result["failed_calls"], failed);
    let usage =
        json!({ "cost": 0.25, "currency": "USD", "context_used": 900, "context_size": 1000 });
    assert_eq!(result["usage"], usage);
    assert!(result["duration_seconds"].is_number());
    assert_eq!(result["context"], "new");
    lead.hear_notice(&format!("{task} of worker is done: \"It is done.\"")).await;
    gate.close().await;
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn a_result_without_repository_and_changes_has_few_fields() {
    let stage = Stage::new(AGENTS);
    let lead = stage.orchestrator().await;
    let task = lead.start("plain", "go").await;
    let first = lead.ended(&task).await;
    for missing in ["files", "files_total", "git", "failed_calls", "usage", "error"] {
        assert!(first[missing].is_null(), "{first}");
    }
    let second = lead.assign("plain", "again").await;
    assert_eq!(lead.ended(&second).await["context"], "kept");
    let fresh = json!({ "agent": "plain", "prompt": "anew", "fresh": true });
    let third = lead.call("assign_task", fresh).await;
    let third = third["task_id"].as_str().unwrap().to_owned();
    assert_eq!(lead.ended(&third).await["context"], "new");
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn errors_are_reported_as_data() {
    let stage = Stage::new(AGENTS).with_profiles(PROFILES);
    let lead = stage.orchestrator().await;
    let task = start_filer(&lead, "locked", "login").await;
    let result = lead.ended(&task).await;
    assert_eq!(result["status"], "failed", "{result}");
    assert_eq!(result["error"]["class"], "auth", "{result}");
    assert_eq!(result["error"]["login"], "turn the key");
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.ends_with("; to log in, turn the key"), "{message}");

    let task = lead.assign("locked", "quota").await;
    let result = lead.ended(&task).await;
    assert_eq!(result["error"]["class"], "quota", "{result}");
    assert!(result["error"]["retry_at"].is_string(), "{result}");
    assert!(result["error"]["login"].is_null(), "{result}");
    let task = lead.assign("locked", "model").await;
    assert_eq!(lead.ended(&task).await["error"]["class"], "model");

    let task = start_filer(&lead, "outside", "go").await;
    let result = lead.ended(&task).await;
    assert_eq!(result["status"], "failed", "{result}");
    assert_eq!(result["error"]["class"], "auth", "{result}");
    assert_eq!(result["error"]["login"], "turn the key");
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn silence_is_an_error_of_its_own_in_a_running_and_in_an_abandoned_task() {
    let stage = Stage::new(AGENTS).with_profiles(PROFILES);
    let lead = stage.orchestrator().await;
    let task = start_filer(&lead, "locked", "hang").await;
    let running = lead
        .until("get_task_result", json!({ "task_id": task }), |result| {
            result["error"]["class"] == "silent"
        })
        .await;
    assert_eq!(running["status"], "running", "{running}");
    lead.call("cancel_task", json!({ "task_id": task })).await;
    let cancelled = lead.ended(&task).await;
    assert_eq!(cancelled["status"], "cancelled", "{cancelled}");
    assert!(cancelled["error"].is_null(), "it ended its turn: {cancelled}");

    let stubborn = lead.assign("locked", "stubborn").await;
    lead.until("get_task_result", json!({ "task_id": stubborn }), |result| {
        result["output"] == "never"
    })
    .await;
    lead.call("cancel_task", json!({ "task_id": stubborn })).await;
    let given_up = lead.ended(&stubborn).await;
    assert_eq!(given_up["status"], "cancelled", "{given_up}");
    assert_eq!(given_up["error"]["class"], "silent", "{given_up}");
    lead.call("kill_agent", json!({ "agent": "locked" })).await;
    lead.close().await;
    stage.check_nobody_is_left();
}

/// A line from an agent may be sixteen times as long as a line of the bus.
#[tokio::test]
async fn an_error_of_any_length_keeps_its_class_and_fits_into_an_answer() {
    let words = format!("429 Too Many Requests {}", "e".repeat(1_200_000));
    let script = format!("[[agents.default.turns]]\nsteps = [{{ fail = \"{words}\" }}]\n");
    let stage = Stage::new(&script);
    let lead = stage.orchestrator().await;
    let task = lead.assign("scripted", "go").await;
    let result = lead.ended(&task).await;
    assert_eq!(result["status"], "failed");
    assert_eq!(result["error"]["class"], "quota");
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.contains("429 Too Many Requests eee") && message.ends_with('…'));
    assert!(result.to_string().len() < 36_864);
    lead.close().await;
    stage.check_nobody_is_left();
}

/// A client that cancels a call it has just got the answer to: nothing proves that its model has read the answer.
#[tokio::test]
async fn a_client_that_takes_a_result_back_gets_a_notice_that_the_task_ended() {
    let stage = Stage::new("[[agents.ann.turns]]\nsteps = [{ say = \"the result\" }]");
    let mut lead = Raw::open(stage.start(&["orchestrator"]).await).await;
    let new = json!({ "agent": "scripted", "name": "ann", "prompt": "work", "wait": true });
    let call = json!({ "name": "assign_task", "arguments": new });
    let id = lead.request("tools/call", call).await;
    let answer = lead.answer(id).await;
    let answered = &answer["result"]["structuredContent"];
    assert_eq!(answered["output"], "the result", "{answer}");
    lead.notify("notifications/cancelled", json!({ "requestId": id })).await;
    let wait = json!({ "timeout_seconds": 5 });
    let notice = lead.call("wait_for_message", wait).await;
    let notice = notice["result"]["structuredContent"]["message"]["content"].as_str();
    let id = answered["task_id"].as_str().unwrap();
    assert!(notice.is_some_and(|text| text.contains(id)), "{notice:?}");
    lead.close().await;
}

const SPENDERS: &str = r#"
[[agents.reader.turns]]
when = "read this"
steps = [
  { raw = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"usage_update","used":90,"size":1000,"cost":{"amount":0.5,"currency":"USD"}}}}' },
  { say = "read" },
]
[[agents.reader.turns]]
when = "Your task: crash"
steps = [
  { raw = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"usage_update","used":90,"size":1000,"cost":{"amount":2.0,"currency":"USD"}}}}' },
  { say = "about to" },
  { crash = 3 },
]
[[agents.reader.turns]]
steps = [
  { raw = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"usage_update","used":90,"size":1000,"cost":{"amount":0.25,"currency":"USD"}}}}' },
  { say = "worked" },
]
"#;

#[tokio::test]
async fn turns_without_a_task_and_turns_that_end_with_their_process_count() {
    let stage = Stage::new(SPENDERS);
    let lead = stage.orchestrator().await;
    let task = lead.start("reader", "work").await;
    assert_eq!(lead.ended(&task).await["usage"]["cost"], 0.25);
    lead.call("send_message", json!({ "to": "reader", "content": "read this" })).await;
    until_usage(&stage, "0.50 USD").await;
    let crash = lead.assign("reader", "crash").await;
    lead.ended(&crash).await;
    until_usage(&stage, "2.00 USD").await;
    lead.close().await;
    // Nothing of it is forgotten once the agent has left.
    until_usage(&stage, "2.00 USD").await;
    stage.check_nobody_is_left();
}

/// Waits until all agents together have used this.
async fn until_usage(stage: &Stage, sum: &str) {
    let project = stage.project().to_str().unwrap();
    let deadline = Instant::now() + DEADLINE;
    loop {
        let (_, said) = stage.ended(&["usage", "--project", project], None).await;
        if said.contains(sum) {
            return;
        }
        assert!(Instant::now() < deadline, "{said}");
    }
}
