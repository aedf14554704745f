//! The schema of ACP and an independent client, which are published as packages: both judge what we say as a client and as the scripted
//! agent.

use std::ffi::OsString;

use serde_json::{Value, json};

use super::acp_traffic::{self, judge, judge_recorded, write_recorder};
use super::judged;
use crate::programs::Programs;
use crate::support::Stage;

/// The programs of the tests of messages.
pub(crate) const SCHEMA_PROGRAMS: [&str; 3] = acp_traffic::PROGRAMS;

/// The programs of the test with the client of another project.
pub(crate) const CLIENT_PROGRAMS: [&str; 4] = ["node", "conformance", "acp-schema", "acpx"];

/// An agent that sends each kind of message that it can.
const SCRIPT: &str = r#"
[agents.default.start]
models = ["small", "large"]
modes = ["work", "plan"]
load = true
steering = "inject"
[[agents.default.turns]]
when = "Your task: show"
steps = [
  { think = "How to begin." },
  { plan = ["begin", "end"] },
  { usage = { used = 1200, size = 200000 } },
  { stream = "A text in several pieces.", chunk = 8, every_ms = 0 },
  { read_file = "notes.txt", save = "notes" },
  { read_file = "missing.txt", expect_error = true },
  { write_file = "answer.txt", content = "forty-two" },
  { ask_permission = "look at the notes", kind = "read", paths = ["notes.txt"] },
  { say = " The notes: {{notes.content}}" },
]
[[agents.default.turns]]
when = "Your task: list"
steps = [{ call = "list_agents" }, { say = "listed" }]
[[agents.default.turns]]
when = "Your task: run"
steps = [
  { ask_permission = "run the tests", kind = "execute", on_reject = "go_on", save = "answer" },
  { say = "{{answer.option}}" },
]
[[agents.default.turns]]
when = "Your task: hang"
steps = [{ say = "I hang." }, { hang = true }]
[[agents.default.turns]]
when = "Your task: fail"
steps = [{ fail = "out of ink" }]
[[agents.default.turns]]
when = "Your task: refuse"
steps = [{ refuse = true }]
[[agents.default.turns]]
steps = [{ say = "{{model}} {{mode}}" }]
"#;

/// An orchestrator leads scripted agents through everything that they can do.
pub(crate) async fn every_message_of_a_team_follows_the_schema() {
    let stage = stage();
    let recorder = write_recorder(&stage);
    let profile = format!(
        "[agents.scripted]\ncommand = \"/bin/sh\"\nargs = [\"{}\"]\n\
         env_pass = [\"BRIDGE_SCRIPT\"]\nmode = \"work\"\nfile_system = true\n",
        recorder.display()
    );
    let stage = stage.with_profiles(&profile);
    std::fs::write(stage.project().join("notes.txt"), "plain words").unwrap();
    let lead = stage.orchestrator().await;

    let shown = lead.start_and_wait("ann", "show").await;
    assert!(shown.ends_with("The notes: plain words"), "{shown}");
    assert_eq!(lead.assign_and_wait("ann", "list").await, "listed");
    let task = lead.assign("ann", "run").await;
    let asked =
        lead.until("get_agent_status", json!({}), |all| all["permissions"][0].is_object()).await;
    let answer = json!({
        "permission_id": asked["permissions"][0]["permission_id"], "decision": "reject"
    });
    lead.call("answer_permission", answer).await;
    lead.done(&task).await;
    let task = lead.assign("ann", "hang").await;
    lead.task_is(&task, "running").await;
    lead.call("cancel_task", json!({ "task_id": task })).await;
    assert_eq!(lead.ended(&task).await["status"], "cancelled");
    for prompt in ["fail", "refuse"] {
        let task = lead.assign("ann", prompt).await;
        assert_eq!(lead.ended(&task).await["status"], "failed", "{prompt}");
    }
    let model = json!({ "agent": "ann", "prompt": "which?", "model": "large", "fresh": true });
    let assigned = lead.call("assign_task", model).await;
    assert_eq!(lead.done(assigned["task_id"].as_str().unwrap()).await, "large work");
    // A new process continues the conversation of the ended one.
    lead.call("shutdown_agent", json!({ "agent": "ann" })).await;
    lead.until_agent("ann", |agent| agent["status"] == "dead").await;
    lead.assign_and_wait("ann", "again").await;
    lead.close().await;
    stage.check_nobody_is_left();

    judge_recorded(&stage).await.check(
        &[
            "initialize",
            "session/new",
            "session/set_config_option",
            "session/prompt",
            "session/cancel",
            "session/close",
            "session/resume",
            "session/request_permission result",
            "fs/read_text_file result",
            "fs/read_text_file error",
            "fs/write_text_file result",
        ],
        &[
            "session/update",
            "session/request_permission",
            "fs/read_text_file",
            "fs/write_text_file",
            "session/prompt result",
            "session/prompt error",
        ],
    );
}

/// The judge of messages finds the faults of messages that are wrong on purpose.
pub(crate) async fn the_judge_of_messages_finds_faults() {
    let stage = stage();
    let client = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": 1 } }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "session/new", "params": { "mcpServers": [] } }),
        json!({ "jsonrpc": "2.0", "id": 3, "method": "session/begin", "params": {} }),
    ];
    let agent = [
        json!({ "jsonrpc": "2.0", "id": 1, "result": { "protocolVersion": "one" } }),
        json!({ "jsonrpc": "2.0", "id": 2, "result": { "sessionId": "s" } }),
        json!({ "jsonrpc": "2.0", "id": 9, "result": {} }),
        json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s", "update": { "sessionUpdate": "agentMessageChunk" } } }),
    ];
    let lines = |messages: &[Value]| {
        let lines: Vec<_> = messages.iter().map(Value::to_string).collect();
        lines.join("\n")
    };
    let files = ["client", "agent"].map(|side| stage.home().join(side));
    std::fs::write(&files[0], lines(&client)).unwrap();
    std::fs::write(&files[1], lines(&agent)).unwrap();
    let found = judge(&stage, &files).await.violations();
    let parts = [
        "client: data must have required property 'cwd'",
        "client: the protocol has no such request",
        "agent: data/update",
        "agent: data/protocolVersion",
        "agent: this answers no request",
    ];
    assert_eq!(found.len(), parts.len(), "{found:#?}");
    for part in parts {
        assert!(found.iter().any(|one| one.starts_with(part)), "{part}: {found:#?}");
    }
}

/// The client of another project leads the scripted agent: its turns, files, permissions and errors.
pub(crate) async fn a_client_of_another_project_understands_the_scripted_agent() {
    let stage = stage();
    let recorder = write_recorder(&stage);
    std::fs::write(stage.project().join("notes.txt"), "plain words").unwrap();
    let agent = format!("/bin/sh {}", recorder.display());
    let exec = async |prompt: &str, policy: &str| {
        let words = ["--cwd", stage.project().to_str().unwrap(), "--agent", &agent, policy];
        let mut args: Vec<OsString> = words.iter().map(OsString::from).collect();
        args.extend(["exec".into(), prompt.into()]);
        judged(&stage, Programs::find().command("acpx", "acpx"), args).await
    };
    for (prompt, policy, code, said) in [
        ("which?", "--approve-all", 0, "small work\n"),
        ("Your task: show", "--approve-all", 0, "The notes: plain words"),
        ("Your task: run", "--approve-all", 0, "[tool] run the tests (completed)"),
        ("Your task: run", "--deny-all", 5, "[tool] run the tests (failed)"),
        ("Your task: refuse", "--approve-all", 0, "[done] refusal"),
        ("Your task: fail", "--approve-all", 1, "out of ink"),
    ] {
        let (exit, shown) = exec(prompt, policy).await;
        assert_eq!(exit.code, Some(code), "{prompt}, {policy}: {shown}");
        assert!(shown.contains(said), "{prompt}, {policy}: {shown}");
    }
    let found = judge_recorded(&stage).await;
    let ours: Vec<_> =
        found.violations().into_iter().filter(|one| one.starts_with("agent:")).collect();
    assert!(ours.is_empty(), "{ours:#?}");
}

fn stage() -> Stage {
    let path = Programs::find().path(&["acpx"]);
    Stage::new(SCRIPT).with_env(vec![("PATH".into(), path)])
}
