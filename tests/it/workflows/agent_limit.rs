//! Workflows at the limit of live agents: idle agents that were started for steps are retired, and no others.

use serde_json::json;

use super::over_mcp::{AGENTS, PROFILES, begin, ended, step, step_is};
use crate::support::Stage;

fn stage_for(agents: usize) -> Stage {
    let profiles = format!("[limits]\nagents = {agents}\n{PROFILES}");
    Stage::new(AGENTS).with_profiles(&profiles)
}

const NO_ROOM: &str = "2 agents are live, which is the limit";

#[tokio::test]
async fn an_idle_agent_that_was_started_for_a_step_gives_way_to_one_of_another_profile() {
    let stage = stage_for(1);
    let lead = stage.orchestrator().await;
    let id = begin(
        &lead,
        &[
            step("a", "writer", "one", &[]),
            step("b", "judge", "two", &["a"]),
            step("c", "writer", "three", &["b"]),
            step("d", "judge", "four", &[]),
        ],
    )
    .await;
    let steps = ended(&lead, &id, "done").await;
    for (name, agent) in [("a", "writer"), ("b", "judge"), ("c", "writer"), ("d", "judge")] {
        assert_eq!(steps[name]["agent"], agent);
        assert_eq!(steps[name]["attempts"], 1, "{}", steps[name]);
    }
    let left = stage.events_of("member_left");
    assert!(left.iter().all(|left| left["departure"] == "stopped"), "{left:?}");
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn a_step_waits_for_a_place_while_an_agent_is_at_work() {
    let stage = stage_for(1);
    let gate = stage.peer("gate").await;
    let lead = stage.orchestrator().await;
    let task = lead.start("ann", "wait").await;
    lead.until_waiting("ann").await;
    let id = begin(&lead, &[step("a", "judge", "x", &[])]).await;
    step_is(&lead, &id, "a", "waiting").await;
    // Killing `ann` frees her place.
    lead.call("kill_agent", json!({ "agent": "ann" })).await;
    assert_ne!(lead.ended(&task).await["status"], "done");
    let steps = ended(&lead, &id, "done").await;
    assert_eq!(steps["a"]["attempts"], 1);
    lead.close().await;
    gate.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn an_agent_that_was_named_or_had_other_work_stays_and_the_step_fails_with_the_reason() {
    let stage = stage_for(2);
    let lead = stage.orchestrator().await;
    lead.start_and_wait("ann", "hello").await;
    let unnamed = json!({ "agent": "writer", "prompt": "hello" });
    let unnamed = lead.call("assign_task", unnamed).await;
    lead.done(unnamed["task_id"].as_str().unwrap()).await;
    lead.until_idle("writer").await;
    let id = begin(&lead, &[step("a", "judge", "x", &[])]).await;
    let steps = ended(&lead, &id, "failed").await;
    let reason = steps["a"]["reason"].as_str().unwrap();
    assert!(reason.contains(NO_ROOM), "{reason}");
    let names = lead.names().await;
    assert!(names.contains(&"ann".into()) && names.contains(&"writer".into()), "{names:?}");
    // The live agents still do steps of their own profile.
    let id = begin(&lead, &[step("a", "writer", "x", &[])]).await;
    ended(&lead, &id, "done").await;
    lead.close().await;
    stage.check_nobody_is_left();
}
