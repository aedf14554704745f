//! Trials of a plan (`run --scripted`) beside the real work of other sessions.

use serde_json::json;

use crate::steer::{done, json_of};
use crate::support::{Stage, until};

const SCRIPT: &str = r#"
[[agents.default.turns]]
when = "Your task: wait"
steps = [{ hang = true }]
[[agents.default.turns]]
steps = [{ say = "{{name}} has done it" }]
"#;

/// Agents that say which model they use.
const MODELS: &str = r#"
[agents.default.start]
load = true
models = ["small", "large"]
[[agents.default.turns]]
steps = [{ say = "{{name}} has done it with {{model}}" }]
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

#[tokio::test]
async fn the_members_of_a_trial_leave_the_lists_with_it_and_its_tasks_stay() {
    let plan = "name = \"x\"\n[[steps]]\nname = \"a\"\nagent = \"red\"\nprompt = \"go\"\n";
    let stage = Stage::new(SCRIPT).with_scripted_profiles(&["red"]).with_plan(plan);
    let (plan, script) = (stage.project().join("plan.toml"), stage.home().join("script.toml"));
    let (plan, script) = (plan.to_str().unwrap(), script.to_str().unwrap());
    done(&stage, &["run", plan, "--scripted", script]).await;
    let status = json_of(&stage, &["status"]).await;
    assert_eq!((&status["members"], &status["totals"]["ended"]), (&json!([]), &json!(0)));
    assert_eq!(status["tasks"][0]["is_trial"], true, "{status}");
    let log = done(&stage, &["log", "--kind", "member"]).await;
    assert!(log.contains("red"), "{log}");

    // The same agent's end is news where no script has played it.
    let lead = stage.orchestrator().await;
    lead.start_and_wait("red", "go").await;
    lead.close().await;
    let status = json_of(&stage, &["status"]).await;
    assert_eq!(status["members"][0]["name"], "red", "{status}");
}

#[tokio::test]
async fn an_agent_of_a_trial_is_neither_resumed_nor_quoted_as_a_real_one() {
    let plan = "name = \"x\"\n[[steps]]\nname = \"a\"\nagent = \"red\"\nprompt = \"go\"\n";
    let stage = Stage::new(MODELS).with_scripted_profiles(&["red"]).with_plan(plan);
    let lead = stage.orchestrator().await;
    let real = json!({ "agent": "red", "prompt": "look", "model": "large" });
    let real = lead.call("assign_task", real).await;
    lead.ended(real["task_id"].as_str().unwrap()).await;
    lead.call("shutdown_agent", json!({ "agent": "red" })).await;
    lead.until_agent("red", |agent| agent["status"] == "dead").await;
    lead.close().await;

    let (plan, script) = (stage.project().join("plan.toml"), stage.home().join("script.toml"));
    let (plan, script) = (plan.to_str().unwrap(), script.to_str().unwrap());
    let project = stage.project().to_str().unwrap();
    let run = ["run", plan, "--scripted", script, "--project", project];
    let (exit, said) = stage.ended(&run, None).await;
    assert_eq!(exit.code, Some(0), "{said}");
    let played = stage.events_of("task_assigned").pop().unwrap();
    assert_eq!(played["agent"], "red");

    let lead = stage.orchestrator().await;
    let again = json!({ "agent": "red", "prompt": "on", "resume": true });
    let resumed = lead.call("assign_task", again).await;
    let result = lead.ended(resumed["task_id"].as_str().unwrap()).await;
    assert_eq!(result["output"], "red has done it with large", "the real one goes on");

    let id = json!({ "task_id": played["id"] });
    let status = lead.call("get_task_status", id.clone()).await;
    assert_eq!(status["trial"], true, "{status}");
    let result = lead.call("get_task_result", id).await;
    assert_eq!(result["trial"], true, "{result}");
    let list = lead.call("get_task_status", json!({})).await;
    let tasks = list["tasks"].as_array().unwrap().iter();
    let trials: Vec<_> = tasks.map(|task| &task["trial"]).collect();
    assert_eq!(trials, [&json!(null), &json!(true), &json!(null)], "{list}");
    lead.close().await;
}
