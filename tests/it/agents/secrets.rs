//! The environment of an agent, and that none of its secrets is ever written down.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use crate::support::{Stage, until};

const KEY: &str = "sk-proj-0123456789abcdef";

const AGENTS: &str = r#"
[[agents.default.turns]]
when = "Your task: tell"
steps = [
  { say = "the key is sk-proj-0123456789abcdef" },
  { ask_permission = "curl -H sk-proj-0123456789abcdef", kind = "execute", on_reject = "go_on" },
  { stream = "LONG", chunk = 70000 },
]
[[agents.default.turns]]
when = "Your task: fail"
steps = [{ fail = "401: sk-proj-0123456789abcdef is no key" }]
[[agents.default.turns]]
when = "Your task: crash"
steps = [{ stderr = "no login with sk-proj-0123456789abcdef" }, { crash = 3 }]
[[agents.default.turns]]
steps = [{ hang = true }]
"#;

fn stage() -> Stage {
    // Long enough that the output is stored in a blob.
    let script = AGENTS.replace("LONG", &"long ".repeat(20_000));
    let profile = "[workflows]\ngate_env = [\"OPENAI_*\", \"AWS_*\"]\n[agents.scripted]\nenv_pass = [\"BRIDGE_SCRIPT\", \"OPENAI_*\"]\n\
        env = { SET_HERE = \"value\", SET_TOKEN = \"0123-of-a-profile\" }\npermissions = \"deny\"\n";
    Stage::new(&script)
        .with_profiles(profile)
        .with_variable("OPENAI_API_KEY", KEY)
        .with_variable("AWS_SECRET_ACCESS_KEY", "aws-0123456789")
        .with_variable("LC_ALL", "C")
        .with_variable("BRIDGE_LOG", "trace")
}

/// Returns the environment of the stage's process whose command line ends with `arguments`.
fn environment(stage: &Stage, arguments: &str) -> Option<BTreeMap<String, String>> {
    let read = |pid: u32, what: &str| std::fs::read_to_string(format!("/proc/{pid}/{what}")).ok();
    let pid = stage.processes().into_iter().find(|pid| {
        let line = read(*pid, "cmdline").unwrap_or_default();
        line.replace('\0', " ").trim_end().ends_with(arguments)
    })?;
    let variables = read(pid, "environ")?;
    let pairs = variables.split('\0').filter_map(|pair| pair.split_once('='));
    Some(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

/// Checks every file below a directory, and returns their number.
fn each_file(directory: &Path, check: &impl Fn(&Path)) -> usize {
    let mut files = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files += each_file(&path, check);
        } else {
            check(&path);
            files += 1;
        }
    }
    files
}

#[tokio::test]
async fn an_agent_gets_only_the_variables_that_its_profile_passes() {
    let stage = stage();
    let lead = stage.orchestrator().await;
    let task = lead.start("ann", "wait").await;
    lead.task_is(&task, "running").await;
    let agent = environment(&stage, " scripted-agent").unwrap();
    let names: Vec<_> = agent.keys().map(String::as_str).collect();
    let expected = [
        "BRIDGE_RUN",
        "BRIDGE_SCRIPT",
        "HOME",
        "LC_ALL",
        "OPENAI_API_KEY",
        "PATH",
        "SET_HERE",
        "SET_TOKEN",
    ];
    assert_eq!(names, expected);
    assert_eq!(agent["OPENAI_API_KEY"], KEY);
    // A graceful stop would grant it 20 s to end its turn.
    lead.call("kill_agent", json!({ "agent": "ann" })).await;
    lead.close().await;
}

#[tokio::test]
async fn no_key_and_no_token_is_written_down() {
    let stage = stage();
    let lead = stage.orchestrator().await;
    let said = lead.start_and_wait("ann", "tell").await;
    assert!(said.starts_with("the key is [hidden: OPENAI_API_KEY]"), "{said:.80}");
    until("the endpoint runs", || environment(&stage, " agent").is_some()).await;
    let token = environment(&stage, " agent").unwrap()["BRIDGE_TOKEN"].clone();
    assert!(token.len() >= 32);
    let failed = lead.assign("ann", "fail").await;
    let failed = lead.ended(&failed).await;
    let message = failed["error"]["message"].as_str().unwrap();
    assert!(message.contains("401: [hidden: OPENAI_API_KEY]"), "{message}");
    let crashed = lead.assign("ann", "crash").await;
    let crashed = lead.ended(&crashed).await;
    let message = crashed["error"]["message"].as_str().unwrap();
    assert!(message.contains("no login with [hidden: OPENAI_API_KEY]"), "{message}");
    let status = lead.call("get_agent_status", json!({})).await;
    assert!(status.to_string().contains("[hidden: OPENAI_API_KEY]"), "{status}");
    let logged = lead.stderr();
    let files = each_file(&stage.bus(), &|path| {
        let bytes = std::fs::read(path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for secret in [KEY, &token] {
            assert!(!text.contains(secret), "{}", path.display());
        }
        let mode = std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", path.display());
    });
    assert!(files > 5);
    let count = |folder: &str| std::fs::read_dir(stage.bus().join(folder)).unwrap().count();
    assert!(count("tasks") >= 3 && count("blobs") >= 1);
    assert!(!logged.contains(KEY) && !logged.contains(&token), "{logged}");
    lead.close().await;
}

#[tokio::test]
async fn the_output_of_a_gate_is_reported_and_stored_without_keys() {
    let stage = stage();
    let lead = stage.orchestrator().await;
    // The second key crosses the point where the output is cut.
    let script = "#!/bin/sh\necho \"key $AWS_SECRET_ACCESS_KEY\"; head -c 789 /dev/zero | tr '\\0' x; echo\n\
        echo \"$OPENAI_API_KEY, $1\" >&2; exit 3\n";
    let gate = stage.project().join("gate.sh");
    std::fs::write(&gate, script).unwrap();
    std::fs::set_permissions(&gate, std::fs::Permissions::from_mode(0o700)).unwrap();
    let plan = json!({ "name": "x", "steps": [
        { "name": "a", "agent": "scripted", "prompt": "tell", "gate": ["./gate.sh", "0123-of-a-profile"] },
    ] });
    let created = lead.call("create_workflow", plan).await;
    let filter = json!({ "workflow_id": created["workflow_id"] });
    let over =
        lead.until("get_workflow_status", filter, |status| status["status"] != "running").await;
    let reason = over["steps"][0]["reason"].as_str().unwrap();
    assert!(reason.starts_with(r#"["./gate.sh", "[hidden: SET_TOKEN]"] ended with"#), "{reason}");
    assert!(reason.ends_with("\n[hidden: OPENAI_API_KEY], [hidden: SET_TOKEN]"), "{reason}");
    assert!(!reason.contains("456789"), "{reason}");
    each_file(&stage.bus(), &|path| {
        let text = std::fs::read(path).unwrap();
        let text = String::from_utf8_lossy(&text);
        for secret in [KEY, "aws-0123456789"] {
            assert!(!text.contains(secret), "{}", path.display());
        }
    });
    lead.close().await;
}

#[tokio::test]
async fn a_model_name_that_contains_a_key_is_never_written_down() {
    let models = format!("[agents.default.start]\nmodels = [\"m-{KEY}\", \"large\"]\n");
    let turns = "[[agents.default.turns]]\nsteps = [{ say = \"with {{model}}\" }]\n";
    let stage = Stage::new(&(models + turns))
        .with_profiles("[agents.scripted]\nenv_pass = [\"BRIDGE_SCRIPT\", \"OPENAI_*\"]\n")
        .with_variable("OPENAI_API_KEY", KEY)
        .with_variable("BRIDGE_LOG", "trace");
    let lead = stage.orchestrator().await;
    let said = lead.start_and_wait("ann", "x").await;
    assert_eq!(said, "with m-[hidden: OPENAI_API_KEY]");
    let answers =
        [lead.call("list_agents", json!({})).await, lead.call("get_agent_status", json!({})).await];
    let wrong = json!({ "agent": "ann", "prompt": "x", "model": "huge" });
    let refused = lead.refused("assign_task", wrong).await;
    assert!(refused.ends_with("It offers \"large\""), "{refused}");
    let wrong = json!({ "agent": "scripted", "name": "bob", "prompt": "x", "model": "huge" });
    let failed = lead.call("assign_task", wrong).await;
    let failed = lead.ended(failed["task_id"].as_str().unwrap()).await;
    assert_eq!(failed["error"]["known"], json!(["large"]), "{failed}");
    let logged = lead.stderr();
    lead.close().await;
    for text in answers.iter().map(ToString::to_string).chain([refused, failed.to_string(), logged])
    {
        assert!(!text.contains(KEY), "{text}");
    }
    each_file(&stage.bus(), &|path| {
        let bytes = std::fs::read(path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(KEY), "{}: {text}", path.display());
    });
}
