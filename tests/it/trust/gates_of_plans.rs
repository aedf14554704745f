//! Trust in plans: what the gates of a plan file may do before and after their user has approved it.

use serde_json::{Value, json};

use super::project_files::{has_run, trust};
use crate::support::{Member, Stage, Terminal};

/// A gate that prints the variables that it got.
const GATE: &str = "name = 'x'\n[[steps]]\nname = 'a'\nagent = 'scripted'\nprompt = 'x'\n\
    gate = ['sh', '-c', 'echo \"token:$GITHUB_TOKEN home:$HOME db:$DATABASE_URL\"; exit 1']\n";

#[tokio::test]
async fn a_gate_of_a_plan_file_needs_approval_and_gets_an_agents_environment_and_gate_env() {
    let stage = Stage::new("[[agents.default.turns]]\nsteps = [{ say = 'done' }]")
        .with_profiles("[workflows]\ngate_env = ['DATABASE_*']")
        .with_project_file("[workflows]\ngate_env = ['*']")
        .with_env(vec![
            ("GITHUB_TOKEN".into(), "ghp".into()),
            ("DATABASE_URL".into(), "db".into()),
        ]);
    let plan = stage.project().join("plan.toml");
    std::fs::write(&plan, GATE).unwrap();
    let lead = stage.orchestrator().await;
    let create = json!({ "file": "plan.toml" });
    let refused = lead.refused("create_workflow", create.clone()).await;
    assert!(
        refused.starts_with(
            "the plan \"plan.toml\" was not run: the gate of a would run [\"sh\", \"-c\", \"echo"
        ),
        "{refused}"
    );
    assert!(refused.ends_with("`cli-team-bridge trust plan.toml`"), "{refused}");
    let dry = json!({ "file": "plan.toml", "dry_run": true });
    lead.call("create_workflow", dry).await;
    let trusting = ["trust", plan.to_str().unwrap()];
    let (_, shown) = stage.ended(&trusting, None).await;
    assert!(shown.contains("the gate of step \"a\" would run [\"sh\""), "{shown}");
    let hash = shown.split("--yes ").nth(1).unwrap().trim().to_owned();
    let yes = [trusting[0], trusting[1], "--yes", &hash];
    assert_eq!(stage.ended(&yes, None).await.0.code, Some(0));
    let created = lead.call("create_workflow", create).await;
    let which = json!({ "workflow_id": created["workflow_id"] });
    let over =
        lead.until("get_workflow_status", which, |status| status["status"] != "running").await;
    let reason = over["steps"][0]["reason"].as_str().unwrap();
    let home = stage.home().display();
    assert!(reason.ends_with(&format!("token: home:{home} db:db")), "{reason}");
    lead.close().await;
}

/// A step that waits for approval, with a gate that leaves a file behind. Another attempt or round would not help the step.
const MARKING: &str = "name = 'x'\n[[steps]]\nname = 'a'\nagent = 'scripted'\nprompt = 'x'\napprove = 'human'\nretries = 2\n\
    gate = ['sh', '-c', 'echo x > \"$HOME/ran\"']\nrepeat = 3\n";

pub(crate) const BY_PLAN: &str = "[[agents.default.turns]]\nsteps = [{ say = 'done' }]";

/// Approves a plan file of a stage.
pub(crate) async fn approve_plan(stage: &Stage, plan: &str) {
    let plan = stage.project().join(plan);
    let trusting = ["trust", plan.to_str().unwrap()];
    let (_, shown) = stage.ended(&trusting, None).await;
    let hash = shown.split("--yes ").nth(1).expect(&shown).trim();
    let yes = [trusting[0], trusting[1], "--yes", hash];
    assert_eq!(stage.ended(&yes, None).await.0.code, Some(0));
}

/// Revokes the approval of a plan file.
async fn revoke(stage: &Stage, plan: &str) {
    let plan = stage.project().join(plan);
    let revoking = ["trust", plan.to_str().unwrap(), "--revoke"];
    let (exit, said) = stage.ended(&revoking, None).await;
    assert_eq!(exit.code, Some(0), "{said}");
}

/// Starts a workflow of an approved plan file, whose step waits for approval; returns its id as tool arguments.
pub(crate) async fn asking(lead: &Member, stage: &Stage) -> Value {
    std::fs::write(stage.project().join("plan.toml"), MARKING).unwrap();
    approve_plan(stage, "plan.toml").await;
    let created = lead.call("create_workflow", json!({ "file": "plan.toml" })).await;
    let which = json!({ "workflow_id": created["workflow_id"] });
    lead.until("get_workflow_status", which.clone(), |status| {
        status["steps"][0]["status"] == "asking"
    })
    .await;
    which
}

/// Approves the step that asks.
pub(crate) async fn approve_step(lead: &Member, which: &Value) {
    let mut approving = which.clone();
    approving["step"] = json!("a");
    approving["approved"] = json!(true);
    lead.call("approve_step", approving).await;
}

/// Approves the step that asks; returns how the workflow ended.
async fn approve_and_wait(lead: &Member, which: &Value) -> Value {
    approve_step(lead, which).await;
    over(lead, which).await
}

/// Returns how a workflow ended.
pub(crate) async fn over(lead: &Member, which: &Value) -> Value {
    lead.until("get_workflow_status", which.clone(), |status| status["status"] != "running").await
}

#[tokio::test]
async fn no_gate_of_a_plan_file_runs_once_the_approval_is_revoked() {
    let stage = Stage::new(BY_PLAN);
    let lead = stage.orchestrator().await;
    let which = asking(&lead, &stage).await;
    revoke(&stage, "plan.toml").await;
    let over = approve_and_wait(&lead, &which).await;
    assert_eq!(over["status"], "failed", "{over}");
    let step = &over["steps"][0];
    let reason = step["reason"].as_str().unwrap();
    for part in [
        "the gate was not run",
        "\"plan.toml\"",
        "revoked the approval",
        "`cli-team-bridge trust plan.toml`",
    ] {
        assert!(reason.contains(part), "{reason}");
    }
    assert_eq!(step["attempts"], 1, "{over}");
    assert!(!has_run(&stage));
    lead.close().await;
}

#[tokio::test]
async fn a_workflow_with_gates_of_a_plan_file_is_resumed_only_with_a_current_approval() {
    let stage = Stage::new(BY_PLAN);
    let lead = stage.orchestrator().await;
    let which = asking(&lead, &stage).await;
    lead.die().await;
    revoke(&stage, "plan.toml").await;
    let lead = stage.orchestrator().await;
    let refused = lead.refused("resume_workflow", which.clone()).await;
    assert!(
        refused.starts_with(
            "the plan \"plan.toml\" was not run: the gate of step \"a\" would run [\"sh\""
        ) && refused.ends_with("`cli-team-bridge trust plan.toml`"),
        "{refused}"
    );

    // An approval of other bytes does not approve these.
    let plan = stage.project().join("plan.toml");
    std::fs::write(&plan, format!("{MARKING}#")).unwrap();
    approve_plan(&stage, "plan.toml").await;
    let refused = lead.refused("resume_workflow", which.clone()).await;
    assert!(
        refused.contains("has changed since or is gone") && refused.contains("cancel_workflow"),
        "{refused}"
    );
    std::fs::write(&plan, MARKING).unwrap();
    let status = lead.call("get_workflow_status", which.clone()).await;
    assert_eq!(status["status"], "interrupted", "{status}");
    lead.close().await;
    approve_plan(&stage, "plan.toml").await;

    // The approval counts neither in a copy, which is another place, nor for another user.
    let copy = stage.copied();
    let lead = copy.orchestrator_with(&["--adopt"]).await;
    let refused = lead.refused("resume_workflow", which.clone()).await;
    assert!(refused.starts_with("the plan"), "{refused}");
    lead.close().await;
    let elsewhere = stage.home().join("elsewhere").into();
    let copy = stage.copied().with_env(vec![("XDG_STATE_HOME".into(), elsewhere)]);
    let lead = copy.orchestrator_with(&["--adopt"]).await;
    let refused = lead.refused("resume_workflow", which.clone()).await;
    assert!(refused.starts_with("the plan"), "{refused}");
    lead.close().await;

    let lead = stage.orchestrator().await;
    lead.call("resume_workflow", which.clone()).await;
    let over = approve_and_wait(&lead, &which).await;
    assert_eq!(over["status"], "done", "{over}");
    assert!(has_run(&stage));
    lead.close().await;
}

#[tokio::test]
async fn a_plan_that_the_user_runs_by_name_needs_no_approval() {
    let stage = Stage::new(BY_PLAN);
    let plan = stage.project().join("plan.toml");
    std::fs::write(&plan, MARKING).unwrap();
    let project = stage.project().to_str().unwrap().to_owned();
    let run = ["run", plan.to_str().unwrap(), "--yes", "--project", &project];
    let (exit, said) = stage.ended(&run, None).await;
    assert_eq!(exit.code, Some(0), "{said}");
    assert!(has_run(&stage));
    let created = &stage.events_of("workflow_created")[0];
    assert!(created.get("plan_file").is_none(), "{created}");
}

#[tokio::test]
async fn gate_variables_of_a_projects_file_end_with_its_approval() {
    let stage = Stage::new(BY_PLAN)
        .with_project_file("[workflows]\ngate_env = ['GITHUB_TOKEN']")
        .with_env(vec![("GITHUB_TOKEN".into(), "ghp".into())]);
    let (_, shown) = trust(&stage, &[]).await;
    let hash = shown.split("--yes ").nth(1).unwrap().trim().to_owned();
    trust(&stage, &["--yes", &hash]).await;
    let lead = stage.orchestrator().await;
    let gate = ["sh", "-c", "echo \"token:$GITHUB_TOKEN.\"; exit 1"];
    let step = json!({ "agent": "scripted", "prompt": "x", "gate": gate });
    for (expected, revokes) in [("token:ghp.", true), ("token:.", false)] {
        let plan = json!({ "name": "x", "steps": [step] });
        let created = lead.call("create_workflow", plan).await;
        let which = json!({ "workflow_id": created["workflow_id"] });
        let over =
            lead.until("get_workflow_status", which, |status| status["status"] != "running").await;
        let reason = over["steps"][0]["reason"].as_str().unwrap();
        assert!(reason.ends_with(expected), "{reason}");
        if revokes {
            trust(&stage, &["--revoke"]).await;
        }
    }
    lead.close().await;
}

#[tokio::test]
async fn trust_speaks_of_a_plan_as_a_plan_and_of_settings_as_settings() {
    let stage = Stage::new(BY_PLAN).with_project_file("[limits]\nagents = 40\n");
    std::fs::write(stage.project().join("plan.toml"), MARKING).unwrap();
    let plan = stage.project().join("plan.toml").to_str().unwrap().to_owned();
    let project = stage.project().to_str().unwrap().to_owned();
    for (named, shown, question, refused, approved, revoked) in [
        (
            &plan,
            "An orchestrator starts this plan only with your approval, because its gates run \
             commands as you:\n\nthe gate of step \"a\" would run [\"sh\"",
            "The author of that plan can run these commands as you. Approve it? [y/N]",
            "not approved: an orchestrator does not start this plan",
            "needs a new approval. An orchestrator can start the plan now.",
            "Revoked. No gate of that plan starts any more; one that is running continues until it \
             ends.",
        ),
        (
            &project,
            "These settings of the project's own file need your approval. Without it they have no \
             effect, and agents with some of them are not started:\n\n\
             [limits] agents = 40 (10 without it)",
            "The author of that file chose these values. Approve it? [y/N]",
            "not approved: the settings shown above have no effect",
            "needs a new approval. Limits apply from the orchestrator's next start.",
            "Revoked. The bridge starts no more agents of that file",
        ),
    ] {
        let (_, said) = stage.ended(&["trust", named], None).await;
        assert!(said.contains(shown), "{said}");
        for (typed, last) in [("n\n", refused), ("y\n", approved)] {
            let mut terminal = Terminal::run_with(&stage, &["trust", named], (40, 250));
            terminal.until_shows(question).await;
            terminal.press(typed);
            terminal.ended(last).await;
        }
        let (exit, said) = stage.ended(&["trust", named, "--revoke"], None).await;
        assert_eq!(exit.code, Some(0), "{said}");
        assert!(said.contains(revoked), "{said}");
        assert_eq!(said.matches("Revoked.").count(), 1, "{said}");
    }
}
