//! Trials of a plan (`run --scripted`) beside the real work of other sessions.

use serde_json::json;

use crate::support::{Stage, until};

const SCRIPT: &str = r#"
[[agents.default.turns]]
when = "Your task: wait"
steps = [{ hang = true }]
[[agents.default.turns]]
steps = [{ say = "{{name}} has done it" }]
"#;

#[tokio::test]
async fn the_agent_of_a_trial_is_not_taken_for_a_real_one() {
    let stage = Stage::new(SCRIPT)
        .with_scripted_profiles(&["red"])
        .with_plan("name = \"x\"\n[[steps]]\nname = \"a\"\nagent = \"red\"\nprompt = \"wait\"\n");
    let (plan, script) = (stage.project().join("plan.toml"), stage.home().join("script.toml"));
    let (plan, script) = (plan.to_str().unwrap(), script.to_str().unwrap());
    let (child, pipes) = stage.start(&["run", plan, "--scripted", script]).await;
    until("it runs", || !stage.events_of("task_started").is_empty()).await;
    let trial = stage.events_of("task_assigned")[0]["session"].clone();

    let lead = stage.orchestrator().await;
    let task = lead.assign("red", "look").await;
    lead.done(&task).await;
    let real = stage.events_of("task_assigned").pop().unwrap();
    assert_ne!(real["session"], trial);
    let id = stage.events_of("workflow_created")[0]["id"].as_str().unwrap().to_owned();
    lead.call("cancel_workflow", json!({ "workflow_id": id })).await;
    tokio::time::timeout(crate::support::DEADLINE, child.exited()).await.unwrap();
    drop(pipes);
    lead.close().await;
}
