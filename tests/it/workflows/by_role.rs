//! Work for a role: an idle agent that has it, else a new one of the first profile with it.

use serde_json::json;

use crate::support::Stage;

/// Agents that repeat their task; one that waits ends when `gate` writes.
const ECHO: &str = r#"
[[agents.default.turns]]
when = "Your task: wait"
steps = [{ wait_for = { from = "gate", seconds = 60 } }, { say = "waited" }]
[[agents.default.turns]]
steps = [{ say = "done" }]
"#;

/// Two profiles, of which one is for reviewers.
const PROFILES: &str = r#"
[agents.critic]
command = "$self"
args = ["scripted-agent"]
env_pass = ["BRIDGE_SCRIPT"]
roles = ["reviewer"]

[agents.another]
command = "$self"
args = ["scripted-agent"]
env_pass = ["BRIDGE_SCRIPT"]
"#;

#[tokio::test]
async fn a_task_for_a_role_goes_to_an_idle_agent_that_has_it_else_to_a_new_one() {
    let stage = Stage::new(ECHO).with_profiles(PROFILES);
    let (lead, gate) = (stage.orchestrator().await, stage.peer("gate").await);
    let assign = async |prompt: &str| {
        lead.call("assign_task", json!({ "agent": "@Reviewers", "prompt": prompt })).await
    };
    let first = assign("say it").await;
    assert_eq!(first["agent"], "critic", "{first}");
    lead.done(first["task_id"].as_str().unwrap()).await;
    lead.until_idle("critic").await;
    let second = assign("wait").await;
    assert_eq!(second["agent"], "critic", "it is idle: {second}");
    let third = assign("say it").await;
    assert_eq!(third["agent"], "critic-2", "the other one is busy: {third}");
    lead.done(third["task_id"].as_str().unwrap()).await;
    gate.send("critic", "go on").await;
    lead.done(second["task_id"].as_str().unwrap()).await;
    let refused = lead.refused("assign_task", json!({ "agent": "@reviwer", "prompt": "x" })).await;
    let expected =
        "no live agent and no profile has the role `@reviwer`: did you mean `@reviewer`?";
    assert_eq!(refused, expected);
    for member in [gate, lead] {
        member.close().await;
    }
}

#[tokio::test]
async fn a_step_for_a_role_is_planned_by_it_and_one_that_nobody_has_is_refused() {
    let stage = Stage::new(ECHO).with_profiles(PROFILES);
    let lead = stage.orchestrator().await;
    let steps = json!([
        { "agent": "@reviewer", "prompt": "one" },
        { "name": "two", "agent": "another", "fallback": ["@reviewer"], "prompt": "two" },
    ]);
    let created = lead.call("create_workflow", json!({ "name": "w", "steps": steps })).await;
    let id = json!({ "workflow_id": created["workflow_id"] });
    let status = lead.until("get_workflow_status", id, |status| status["status"] == "done").await;
    let steps = status["steps"].as_array().unwrap();
    let names: Vec<_> = steps.iter().map(|step| (&step["name"], &step["agent"])).collect();
    assert_eq!(names[0], (&json!("reviewer"), &json!("critic")), "{status}");
    let nobody = json!([{ "agent": "@tester", "prompt": "x" }]);
    let refused = lead.refused("create_workflow", json!({ "name": "w", "steps": nobody })).await;
    let expected = "no live agent and no profile has the role `@tester`; there are `@reviewer`";
    assert!(refused.contains(expected), "{refused}");
    lead.close().await;
}
