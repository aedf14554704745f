//! A bus belongs to the place where it was made: one that came with a copy, a clone or an archive runs nothing and ends no process.

use std::path::Path;

use serde_json::json;

use crate::agents::results::git;
use crate::support::{Raw, Stage, until};
use crate::workflows::over_mcp::{AGENTS, PROFILES, begin, step, step_is};

/// A project with an interrupted workflow, which would go on by itself if its bus were believed.
async fn interrupted() -> Stage {
    let profiles = format!("[workflows]\nresume = \"auto\"\n{PROFILES}");
    let stage = Stage::new(AGENTS).with_profiles(&profiles);
    let lead = stage.orchestrator().await;
    let id = begin(&lead, &[step("a", "writer", "hang", &[])]).await;
    step_is(&lead, &id, "a", "running").await;
    lead.die().await;
    until("its agents have ended", || stage.processes().is_empty()).await;
    stage
}

/// Returns the names of the buses that were set aside in `.claude`.
fn aside(project: &Path) -> Vec<String> {
    let names = std::fs::read_dir(project.join(".claude")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("bridge.foreign-")).collect()
}

#[tokio::test]
async fn a_copy_with_an_interrupted_workflow_runs_nothing() {
    let stage = interrupted().await;
    let copy = stage.copied();
    let lead = copy.orchestrator().await;
    let workflows = lead.call("get_workflow_status", json!({})).await;
    assert_eq!(workflows["workflows"], json!([]), "{workflows}");
    lead.hear_notice("It was set aside in `.claude` as \"bridge.foreign-").await;
    assert!(lead.stderr().contains("--adopt"), "{}", lead.stderr());
    lead.close().await;
    assert_eq!(aside(copy.project()).len(), 1);
    for kind in ["member_starting", "step_started", "workflow_created"] {
        assert_eq!(copy.events_of(kind).len(), 0, "{kind}");
    }
    // In the original project it goes on.
    let lead = stage.orchestrator().await;
    until("the step has begun again", || stage.events_of("step_started").len() == 2).await;
    lead.close().await;
}

#[tokio::test]
async fn a_clone_that_brings_a_bus_is_refused_until_git_does_not_track_it() {
    let stage = interrupted().await;
    let (project, home) = (stage.project(), stage.home());
    git(project, home, &["init", "-q"]);
    git(project, home, &["add", "-f", "."]);
    git(project, home, &["commit", "-qm", "all"]);
    let clone = Stage::new(AGENTS);
    let (target, user) = (clone.project(), clone.home());
    let url = project.to_str().unwrap();
    std::fs::remove_dir(target.join(".claude")).unwrap();
    git(target, user, &["clone", "-q", url, "."]);
    assert!(clone.bus().join("bus.json").exists());
    let brought = clone.events().len();

    for arguments in [&["orchestrator"][..], &["peer", "--name", "ann"]] {
        let mut member = Raw::open(clone.start(arguments).await).await;
        let answer = member.call("list_agents", json!({})).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let error = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(error.contains("git tracks files in it"), "{error}");
        assert!(!error.contains('/'), "{error}");
        member.close().await;
    }
    assert_eq!(clone.events().len(), brought, "nothing is written to it");
    git(target, user, &["rm", "-rq", "--cached", ".claude/bridge"]);
    git(target, user, &["commit", "-qm", "without"]);
    let lead = clone.orchestrator().await;
    assert_eq!(clone.events_of("workflow_created").len(), 0);
    assert_eq!(aside(target).len(), 1);
    lead.close().await;
    let status = std::process::Command::new("git")
        .args(["status", "--porcelain"])
        .current_dir(target)
        .env("HOME", user)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(status.stdout).unwrap(), "", "git sees nothing of it");
    assert!(clone.processes().is_empty());
}

/// Starts an orchestrator in a copy of a project whose agent is working, and checks that this agent lives on.
async fn check_original_lives(arguments: &[&str]) {
    let stage = Stage::new(AGENTS).with_profiles(PROFILES);
    let lead = stage.orchestrator().await;
    let gate = stage.peer("gate").await;
    let task = lead.start("ann", "wait").await;
    lead.until_waiting("ann").await;
    let before = stage.processes();

    let copy = stage.copied();
    let other = copy.orchestrator_with(arguments).await;
    if !arguments.is_empty() {
        // The sessions of the log are dead here, so their processes are searched for.
        until("the agent is swept", || copy.events_of("agent_swept").len() == 1).await;
    }
    // Its own agents come and go.
    other.start_and_wait("ben", "hello").await;
    other.close().await;

    assert_eq!(stage.processes(), before);
    gate.send("ann", "go on").await;
    assert_eq!(lead.done(&task).await, "heard go on");
    lead.close().await;
    gate.close().await;
    stage.check_nobody_is_left();
    assert_eq!(aside(copy.project()).len(), usize::from(arguments.is_empty()));
}

#[tokio::test]
async fn an_orchestrator_in_a_copy_leaves_the_agents_of_the_original_alive() {
    check_original_lives(&[]).await;
}

#[tokio::test]
async fn an_orchestrator_that_adopts_a_copy_leaves_the_agents_of_the_original_alive() {
    check_original_lives(&["--adopt"]).await;
}

#[tokio::test]
async fn a_bus_that_is_adopted_keeps_its_messages() {
    let stage = Stage::new(AGENTS);
    let (lead, ann) = (stage.orchestrator().await, stage.peer("ann").await);
    lead.send("ann", "before").await;
    ann.close().await;
    lead.close().await;
    let copy = stage.copied().with_env(vec![("BRIDGE_ADOPT".into(), "1".into())]);
    let ann = copy.peer("ann").await;
    let heard = ann.all_heard().await;
    assert_eq!(heard.len(), 1, "{heard:?}");
    ann.close().await;
    assert_eq!(aside(copy.project()).len(), 0);
}

#[tokio::test]
async fn the_command_that_doctor_prints_adopts_a_copy_though_its_input_is_empty() {
    let stage = Stage::new(AGENTS);
    let lead = stage.orchestrator().await;
    lead.start_and_wait("ann", "hello").await;
    lead.close().await;
    let copy = stage.copied();
    let project = copy.project().to_str().unwrap();

    let (exit, said) = copy.ended(&["tasks", "--project", project], None).await;
    assert_eq!(exit.code, Some(1), "{said}");
    assert!(said.contains("cli-team-bridge orchestrator --adopt < /dev/null"), "{said}");
    let adopt = ["orchestrator", "--adopt", "--project", project];
    let (exit, said) = copy.ended(&adopt, None).await;
    assert_eq!(exit.code, Some(0), "{said}");
    assert!(said.contains("is adopted"), "{said}");
    let (exit, said) = copy.ended(&["tasks", "--project", project], None).await;
    assert_eq!(exit.code, Some(0), "{said}");
    assert!(said.contains("ann"), "{said}");

    std::fs::write(copy.bus().join("bus.json"), r#"{"format": 999}"#).unwrap();
    let (exit, said) = copy.ended(&adopt, None).await;
    assert_eq!(exit.code, Some(1), "{said}");
    assert!(said.contains("error: failed to adopt the bus: "), "{said}");
    assert_eq!(aside(copy.project()).len(), 0);
}
