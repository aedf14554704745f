//! An orchestrator in a linked worktree: it uses the repository's bus, and its agents work in its worktree.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::agents::results::{check_compared, git, until_git_has_looked};
use crate::support::{Member, Stage, until};

const AGENTS: &str = r#"
[[agents.default.turns]]
when = "Your task: where"
steps = [{ fork = "pwd > $HOME/here.new; mv $HOME/here.new $HOME/here" }]
[[agents.default.turns]]
when = "Your task: change"
steps = [
  { wait_for = { from = "gate", seconds = 100 } },
  { write_file = "made.txt", content = "new" },
  { write_file = "../project/kept.txt", content = "other", expect_error = true, save = "no" },
  { ask_permission = "change it", kind = "edit", paths = ["kept.txt"], on_reject = "go_on", save = "inside" },
  { ask_permission = "change the main one", kind = "edit", paths = ["../project/kept.txt"], on_reject = "go_on", save = "outside" },
  { say = "{{inside.option}} {{outside.option}} {{no.error}}" },
]
[[agents.default.turns]]
steps = [{ say = "{{prompt}}" }]
"#;

const PROFILES: &str = r#"
[agents.scripted]
permissions = "rules"
permission_seconds = 1
[agents.filer]
command = "$self"
args = ["scripted-agent"]
env_pass = ["BRIDGE_SCRIPT"]
file_system = true
permission_seconds = 1
"#;

/// A repository in the project, with a worktree `topic` beside it.
fn stage() -> (Stage, PathBuf) {
    let stage = Stage::new(AGENTS).with_profiles(PROFILES);
    let (project, home) = (stage.project(), stage.home());
    std::fs::create_dir(project.join("src")).unwrap();
    for file in ["kept.txt", "src/main.txt"] {
        std::fs::write(project.join(file), "one").unwrap();
    }
    git(project, home, &["init", "-q"]);
    git(project, home, &["add", "kept.txt", "src"]);
    git(project, home, &["commit", "-qm", "first"]);
    git(project, home, &["worktree", "add", "-q", "../topic"]);
    let topic = project.parent().unwrap().join("topic");
    (stage, topic)
}

async fn assign(lead: &Member, agent: &str, name: &str, prompt: &str, cwd: Option<&Path>) -> Value {
    let mut new = json!({ "agent": agent, "name": name, "prompt": prompt });
    if let Some(cwd) = cwd {
        new["cwd"] = json!(cwd);
    }
    let assigned = lead.call("assign_task", new).await;
    lead.ended(assigned["task_id"].as_str().unwrap()).await
}

/// Returns the working directory of a new agent.
async fn here(stage: &Stage, lead: &Member, name: &str, cwd: Option<&Path>) -> PathBuf {
    let result = assign(lead, "scripted", name, "where", cwd).await;
    assert_eq!(result["status"], "done", "{result}");
    // The command may outlive the turn that started it.
    let said = stage.home().join("here");
    until("the agent has said where it is", || said.exists()).await;
    let place = std::fs::read_to_string(&said).unwrap();
    std::fs::remove_file(said).unwrap();
    PathBuf::from(place.trim_end())
}

#[tokio::test]
async fn agents_work_where_their_leader_stands_and_in_any_worktree_of_the_repository() {
    let (stage, topic) = stage();
    let lead = stage.orchestrator_in(&topic.join("src")).await;
    assert!(stage.bus().join("bus.json").exists());
    assert!(!topic.join(".claude/bridge").exists());

    assert_eq!(here(&stage, &lead, "a", None).await, topic);
    let src = topic.join("src");
    assert_eq!(here(&stage, &lead, "b", Some(Path::new("src"))).await, src);
    assert_eq!(here(&stage, &lead, "c", Some(stage.project())).await, stage.project());
    let root = stage.project().parent().unwrap();
    for outside in [root, stage.home()] {
        let new = json!({ "agent": "scripted", "name": "d", "prompt": "where", "cwd": outside });
        let refused = lead.refused("assign_task", new).await;
        assert!(refused.contains("is outside the project"), "{refused}");
    }
    // An orchestrator in the main worktree is in the same team.
    let other = stage.orchestrator_in(stage.project()).await;
    assert_eq!(here(&stage, &other, "e", None).await, stage.project());
    assert!(other.names().await.contains(&"orchestrator".to_owned()));
    other.close().await;
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn rules_and_files_follow_the_worktree_of_the_agent() {
    let (stage, topic) = stage();
    let lead = stage.orchestrator_in(&topic).await;
    let gate = stage.peer("gate").await;
    let new = json!({ "agent": "filer", "name": "a", "prompt": "change" });
    let assigned = lead.call("assign_task", new).await;
    let task = assigned["task_id"].as_str().unwrap();
    lead.until_waiting("a").await;
    until_git_has_looked(&stage, task).await;
    gate.send("a", "go on").await;
    let result = lead.ended(task).await;
    let said = result["output"].as_str().unwrap();
    assert!(
        said.starts_with("allow_once reject_once the bridge does not give out this file"),
        "{result}"
    );
    check_compared(&result);
    let files = result["files"].as_array().unwrap().iter();
    let reported: Vec<_> =
        files.map(|file| (file["path"].clone(), file["sources"].clone())).collect();
    let expected = [(json!("kept.txt"), json!(["tool_call"])), (json!("made.txt"), json!(["git"]))];
    assert_eq!(reported, expected, "{result}");
    assert!(topic.join("made.txt").exists());
    let main = std::fs::read_to_string(stage.project().join("kept.txt")).unwrap();
    assert_eq!(main, "one");
    gate.close().await;
    lead.close().await;
}

#[tokio::test]
async fn a_gate_runs_where_the_agents_work() {
    let (stage, topic) = stage();
    let lead = stage.orchestrator_in(&topic).await;
    let step = json!({ "name": "a", "agent": "scripted", "prompt": "x", "gate": ["sh", "-c", "pwd > gate-was-here"] });
    let id = crate::workflows::over_mcp::begin(&lead, &[step]).await;
    crate::workflows::over_mcp::ended(&lead, &id, "done").await;
    let said = std::fs::read_to_string(topic.join("gate-was-here")).unwrap();
    assert_eq!(Path::new(said.trim_end()), topic);
    lead.close().await;
}
