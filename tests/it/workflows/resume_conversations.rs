//! Steps that were interrupted with their orchestrator: their agents continue their conversations if they can load them.

use serde_json::{Value, json};

use super::each_engine::{Engine, on_each_engine};
use super::over_mcp::{AGENTS, PROFILES, begin, ended, stage_on, step};
use crate::support::{Member, Stage, until};

on_each_engine!(
    interrupted_steps_go_on_each_in_the_session_of_its_own_agent,
    an_agent_that_cannot_load_its_session_restarts_the_step_and_its_prompt_says_so,
    a_step_restarts_with_its_own_prompt_if_it_is_fresh_or_its_agent_cannot_be_resumed,
    agents_that_a_plan_names_are_resumed_also_for_steps_that_had_not_begun,
);

/// What the prompt of an interrupted step begins with.
const PREFACE: &str = "Your task: This step was started before, and interrupted when its \
                       orchestrator ended. Check what is already done, and continue from there. \
                       The step is:\n\n";

/// The same agents, which can load their sessions.
fn stage_that_remembers(engine: Engine) -> Stage {
    let script = format!("[agents.default.start]\nload = true\n{AGENTS}");
    Stage::new(&script).with_profiles(&format!("{}{PROFILES}", engine.settings()))
}

/// Waits until `count` tasks have begun.
async fn until_begun(stage: &Stage, count: usize) {
    until("the tasks have begun", || stage.events_of("task_started").len() >= count).await;
}

/// Kills the orchestrator in the middle of steps, and lets the next one go on.
async fn next(stage: &Stage, lead: Member, id: &str) -> Member {
    lead.die().await;
    let lead = stage.orchestrator().await;
    let which = json!({ "workflow_id": id });
    lead.call("resume_workflow", which).await;
    lead
}

/// Returns the ACP sessions that the agents have had, one for each process.
fn acp_sessions(stage: &Stage) -> Vec<Value> {
    let runs = stage.events_of("agent_runs").into_iter();
    runs.filter_map(|run| run.get("acp_session").cloned()).collect()
}

async fn interrupted_steps_go_on_each_in_the_session_of_its_own_agent(engine: Engine) {
    let stage = stage_that_remembers(engine);
    let lead = stage.orchestrator().await;
    let id = begin(
        &lead,
        &[
            step("left", "writer", "hang on the left", &[]),
            step("right", "writer", "hang on the right", &[]),
            step("last", "writer", "x", &["left", "right"]),
        ],
    )
    .await;
    until_begun(&stage, 2).await;
    let before = acp_sessions(&stage);
    assert_eq!(before.len(), 2);
    let lead = next(&stage, lead, &id).await;
    let steps = ended(&lead, &id, "done").await;
    for (name, agent) in [("left", "writer"), ("right", "writer-2")] {
        let step = &steps[name];
        assert_eq!(step["agent"], agent, "{step}");
        assert_eq!(step["context"], "resumed", "{step}");
        assert_eq!(step["attempts"], 2, "{step}");
        let output = step["output"].as_str().unwrap();
        let prompt = format!("<{agent}: {PREFACE}hang on the {name}>");
        assert_eq!(output, prompt, "a loaded session needs no introduction");
    }
    let mut after = acp_sessions(&stage).split_off(2);
    after.sort_by_key(ToString::to_string);
    let mut expected = before;
    expected.sort_by_key(ToString::to_string);
    assert_eq!(after, expected, "and no other agent was started");
    assert_eq!(steps["last"]["context"], "kept", "a free agent is used again");
    lead.close().await;
    stage.check_nobody_is_left();
}

async fn an_agent_that_cannot_load_its_session_restarts_the_step_and_its_prompt_says_so(
    engine: Engine,
) {
    let stage = stage_on(engine);
    let lead = stage.orchestrator().await;
    let id = begin(&lead, &[step("a", "writer", "hang", &[])]).await;
    until_begun(&stage, 1).await;
    let lead = next(&stage, lead, &id).await;
    let steps = ended(&lead, &id, "done").await;
    assert_eq!(steps["a"]["agent"], "writer");
    assert_eq!(steps["a"]["context"], "lost", "{}", steps["a"]);
    let output = steps["a"]["output"].as_str().unwrap();
    assert!(
        output.contains("You are `writer`") && output.ends_with(&format!("{PREFACE}hang>")),
        "{output}"
    );
    let sessions = acp_sessions(&stage);
    assert_eq!(sessions.len(), 2);
    lead.close().await;
    stage.check_nobody_is_left();
}

async fn a_step_restarts_with_its_own_prompt_if_it_is_fresh_or_its_agent_cannot_be_resumed(
    engine: Engine,
) {
    let stage = stage_that_remembers(engine);
    let gate = stage.peer("gate").await;
    let lead = stage.orchestrator().await;
    let mut fresh = step("fresh", "writer", "wait", &[]);
    fresh["fresh"] = json!(true);
    let taken = step("taken", "judge", "wait", &[]);
    let id = begin(&lead, &[fresh, taken]).await;
    lead.until_waiting("writer").await;
    lead.until_waiting("judge").await;
    lead.die().await;
    let lead = stage.orchestrator().await;
    lead.until_agent("judge", |agent| agent["status"] == "dead").await;
    // Another agent has the name `judge` now, and the step that names `judge` is for that agent.
    let other = json!({ "agent": "writer", "name": "judge", "prompt": "x" });
    let other = lead.call("assign_task", other).await;
    lead.done(other["task_id"].as_str().unwrap()).await;
    let which = json!({ "workflow_id": id });
    lead.call("resume_workflow", which).await;
    lead.until_waiting("writer").await;
    lead.until_waiting("judge").await;
    gate.send("writer", "one").await;
    gate.send("judge", "two").await;
    let steps = ended(&lead, &id, "done").await;
    assert_eq!(steps["fresh"]["output"], "heard one");
    assert_eq!(steps["fresh"]["context"], "new");
    assert_eq!(steps["taken"]["output"], "heard two");
    assert_eq!(steps["taken"]["context"], "kept");
    lead.close().await;
    gate.close().await;
    stage.check_nobody_is_left();
}

async fn agents_that_a_plan_names_are_resumed_also_for_steps_that_had_not_begun(engine: Engine) {
    let stage = stage_that_remembers(engine);
    let lead = stage.orchestrator().await;
    lead.start_and_wait("ann", "hello").await;
    lead.start_and_wait("ben", "hello").await;
    let chain = [step("a", "ann", "hang", &[]), step("b", "ben", "x", &["a"])];
    let id = begin(&lead, &chain).await;
    until_begun(&stage, 3).await;
    let lead = next(&stage, lead, &id).await;
    let steps = ended(&lead, &id, "done").await;
    for (name, agent) in [("a", "ann"), ("b", "ben")] {
        assert_eq!(steps[name]["agent"], agent, "{}", steps[name]);
        assert_eq!(steps[name]["context"], "resumed", "{}", steps[name]);
    }
    lead.close().await;
    stage.check_nobody_is_left();
}
