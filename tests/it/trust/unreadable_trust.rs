//! Trust: approvals that cannot be read for a while, and approvals of files that are gone.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::Instant;

use serde_json::{Value, json};

use super::gates_of_plans::{BY_PLAN, approve_plan, approve_step, asking, over};
use super::project_files::{assign, has_run, hostile, trust};
use crate::support::{Stage, until};

/// Sets the mode of the directory of approvals, which is not believed while others may write to it.
fn set_mode_of_approvals(stage: &Stage, mode: u32) {
    let approvals = stage.home().join(".local/state/cli-team-bridge/trusted");
    std::fs::set_permissions(approvals, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Approves the project's own file.
async fn approve_project_file(stage: &Stage) {
    let (_, shown) = trust(stage, &[]).await;
    let hash = shown.split("--yes ").nth(1).unwrap().trim().to_owned();
    let (exit, said) = trust(stage, &["--yes", &hash]).await;
    assert_eq!(exit.code, Some(0), "{said}");
}

const UNREADABLE: &str = "the user's approval of that file cannot be read from the user's state directory (the bridge's stderr names \
                          it): others may write to it";

#[tokio::test]
async fn a_gate_waits_while_the_approval_of_its_plan_cannot_be_read() {
    let stage = Stage::new(BY_PLAN);
    let lead = stage.orchestrator().await;
    let which = asking(&lead, &stage).await;
    set_mode_of_approvals(&stage, 0o770);
    approve_step(&lead, &which).await;
    until("stderr reports it", || lead.stderr().contains("cannot read your approvals")).await;
    let status = lead.call("get_workflow_status", which.clone()).await;
    assert_eq!(status["status"], "running", "{status}");
    assert!(!has_run(&stage));
    set_mode_of_approvals(&stage, 0o700);
    let over = over(&lead, &which).await;
    assert_eq!(over["status"], "done", "{over}");
    assert!(has_run(&stage));
    let reports = lead.stderr().matches("cannot read your approvals").count();
    assert_eq!(reports, 1, "{}", lead.stderr());
    lead.close().await;
}

#[tokio::test]
async fn an_unreadable_approval_is_not_reported_as_missing() {
    let stage = hostile();
    approve_project_file(&stage).await;
    let lead = stage.orchestrator().await;
    set_mode_of_approvals(&stage, 0o770);
    let refused = lead.refused("assign_task", assign()).await;
    assert!(
        refused.starts_with("`scripted` was not started")
            && refused.contains(UNREADABLE)
            && refused.ends_with(". Try again when it can be read"),
        "{refused}"
    );
    let (exit, said) = trust(&stage, &[]).await;
    assert_eq!(exit.code, Some(1), "{said}");
    assert!(!has_run(&stage));
    set_mode_of_approvals(&stage, 0o700);
    let assigned = lead.call("assign_task", assign()).await;
    lead.ended(assigned["task_id"].as_str().unwrap()).await;
    assert!(has_run(&stage));
    lead.close().await;
}

#[tokio::test]
async fn no_agent_gets_another_process_while_the_approval_cannot_be_read() {
    let stage = Stage::new(BY_PLAN)
        .with_project_file("[agents.scripted]\npermissions = 'allow'\none_session = true");
    approve_project_file(&stage).await;
    let lead = stage.orchestrator().await;
    assert_eq!(lead.start_and_wait("ann", "x").await, "done");
    set_mode_of_approvals(&stage, 0o770);
    let work = json!({ "agent": "ann", "prompt": "x", "fresh": true, "wait": true });
    lead.call("assign_task", work).await;
    let ended = |agent: &Value| agent["status"] == "dead";
    let why = lead.until_agent("ann", ended).await.to_string();
    assert!(why.contains(UNREADABLE), "{why}");
    set_mode_of_approvals(&stage, 0o700);
    lead.close().await;
}

#[tokio::test]
async fn a_workflow_that_resumes_by_itself_waits_until_its_approval_can_be_read() {
    let stage = Stage::new(BY_PLAN)
        .with_profiles("[workflows]\nresume = 'auto'")
        .with_env(vec![("BRIDGE_LOG".into(), "debug".into())]);
    let lead = stage.orchestrator().await;
    let which = asking(&lead, &stage).await;
    let id = which["workflow_id"].as_str().unwrap().to_owned();
    lead.die().await;
    set_mode_of_approvals(&stage, 0o770);
    let lead = stage.orchestrator().await;
    let refused = format!("failed to resume {id}: the workflow was not resumed: its gates");
    until("it is refused", || lead.stderr().contains(&refused)).await;
    set_mode_of_approvals(&stage, 0o700);
    // No tool is called meanwhile: only the approval changes.
    let resumed = || !stage.events_of("workflow_resumed").is_empty();
    until("it goes on", resumed).await;
    lead.close().await;
}

#[tokio::test]
async fn a_workflow_without_approval_is_tried_once_a_second_however_often_the_bus_changes() {
    let stage = Stage::new(BY_PLAN)
        .with_profiles("[workflows]\nresume = 'auto'")
        .with_env(vec![("BRIDGE_LOG".into(), "debug".into())]);
    let lead = stage.orchestrator().await;
    let which = asking(&lead, &stage).await;
    let refused = format!("failed to resume {}", which["workflow_id"].as_str().unwrap());
    lead.die().await;
    let plan = stage.project().join("plan.toml");
    let revoking = ["trust", plan.to_str().unwrap(), "--revoke"];
    assert_eq!(stage.ended(&revoking, None).await.0.code, Some(0));
    let began = Instant::now();
    let lead = stage.orchestrator().await;
    until("it is refused", || lead.stderr().contains(&refused)).await;
    lead.start_and_wait("ann", "x").await;
    for _ in 0..5 {
        let work = json!({ "agent": "ann", "prompt": "x", "wait": true });
        lead.call("assign_task", work).await;
    }
    let tries = lead.stderr().matches(&refused).count() as u64;
    let seconds = began.elapsed().as_secs();
    assert!(tries <= seconds + 1, "{tries} in {seconds} s");
    lead.close().await;
}

#[tokio::test]
async fn an_approval_is_revoked_whatever_has_replaced_its_file() {
    let stage = Stage::new(BY_PLAN);
    let project = stage.project().to_owned();
    let link = stage.home().join("link");
    symlink(&project, &link).unwrap();
    let plan = project.join("plan.toml");
    let replaced: [&dyn Fn(); 3] = [
        &|| std::fs::create_dir(&plan).unwrap(),
        &|| nix::unistd::mkfifo(&plan, nix::sys::stat::Mode::S_IRWXU).unwrap(),
        &|| {},
    ];
    for replace in replaced {
        for named in [&plan, &link.join("plan.toml")] {
            std::fs::write(&plan, "name = 'x'\n[[steps]]\nname = 'a'\nagent = 'scripted'\nprompt = 'x'\ngate = ['true']").unwrap();
            approve_plan(&stage, "plan.toml").await;
            std::fs::remove_file(&plan).unwrap();
            replace();
            let revoking = ["trust", "--revoke", named.to_str().unwrap()];
            let (exit, said) = stage.ended(&revoking, None).await;
            assert_eq!(exit.code, Some(0), "{named:?}: {said}");
            let (_, said) = stage.ended(&["trust", "--list"], None).await;
            assert!(said.contains("You have approved no files"), "{said}");
            if plan.is_dir() {
                std::fs::remove_dir(&plan).unwrap();
            } else if plan.exists() {
                std::fs::remove_file(&plan).unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_listed_approval_can_be_pasted_after_revoke() {
    let stage = Stage::new(BY_PLAN);
    for name in ["it's $HOME.toml", "a\\b.toml", "\u{1b}[2J\n.toml", "\"q\".toml"] {
        let plan = stage.project().join(name);
        std::fs::write(
            &plan,
            "name = 'x'\n[[steps]]\nname = 'a'\nagent = 'scripted'\nprompt = 'x'\ngate = ['true']",
        )
        .unwrap();
        approve_plan(&stage, name).await;
        let (_, listed) = stage.ended(&["trust", "--list"], None).await;
        let word = listed.trim_end().split_once(' ').unwrap().1;
        let shell =
            std::process::Command::new("sh").args(["-c", &format!("printf %s {word}")]).output();
        let word = String::from_utf8(shell.unwrap().stdout).unwrap();
        let (exit, said) = stage.ended(&["trust", "--revoke", &word], None).await;
        assert_eq!(exit.code, Some(0), "{listed}: {said}");
    }
}
