//! Workflows whose orchestrator is closed, or killed at any boundary of their steps. The next one continues them.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use serde_json::{Value, json};

use super::each_engine::{Engine, on_each_engine};
use super::over_mcp::{AGENTS, PROFILES, begin, ended, stage_on, status, step, step_is, steps};
use crate::support::{Stage, until};

on_each_engine!(
    a_workflow_whose_orchestrator_closes_waits_for_the_next,
    with_automatic_resume_the_next_orchestrator_continues_by_itself,
    after_a_kill_at_any_boundary_of_its_steps_a_workflow_goes_on_and_repeats_nothing,
    after_a_kill_at_any_boundary_of_a_diamond_it_goes_on_and_repeats_nothing,
);

async fn a_workflow_whose_orchestrator_closes_waits_for_the_next(engine: Engine) {
    let stage = stage_on(engine);
    let gate = stage.peer("gate").await;
    let lead = stage.orchestrator().await;
    let chain = [
        step("a", "writer", "x", &[]),
        step("b", "judge", "wait", &["a"]),
        step("c", "writer", "{{steps.b.output}}", &["b"]),
    ];
    let id = begin(&lead, &chain).await;
    lead.until_waiting("judge").await;
    // Its turn ends gracefully: it receives the notice of the end, and repeats it.
    lead.close().await;
    let lead = stage.orchestrator().await;
    lead.hear_notice("was interrupted with 1 of 3 steps finished: resume_workflow continues").await;
    let which = json!({ "workflow_id": id });
    let resumed = lead.call("resume_workflow", which).await;
    assert_eq!(resumed["status"], "running");
    let steps = ended(&lead, &id, "done").await;
    assert_eq!(steps["a"]["attempts"], 1);
    assert_eq!(steps["b"]["attempts"], 1);
    assert!(steps["c"]["output"].as_str().unwrap().contains("heard the bridge is closing"));
    lead.close().await;
    gate.close().await;
    stage.check_nobody_is_left();
}

async fn with_automatic_resume_the_next_orchestrator_continues_by_itself(engine: Engine) {
    let stage = Stage::new(AGENTS);
    let profiles = format!("{}[workflows]\nresume = \"auto\"\n{PROFILES}", engine.settings());
    let stage = stage.with_profiles(&profiles);
    let lead = stage.orchestrator().await;
    let mut chain = [step("a", "writer", "x", &[]), step("b", "judge", "hang", &["a"])];
    // A fresh step gets the same prompt again.
    chain[1]["fresh"] = json!(true);
    let id = begin(&lead, &chain).await;
    step_is(&lead, &id, "b", "running").await;
    lead.die().await;
    let lead = stage.orchestrator().await;
    let which = json!({ "workflow_id": id });
    let again = lead
        .until("get_workflow_status", which.clone(), |status| steps(status)["b"]["attempts"] == 2)
        .await;
    assert_eq!(steps(&again)["a"]["attempts"], 1);
    lead.call("cancel_workflow", which).await;
    ended(&lead, &id, "cancelled").await;
    lead.close().await;
}

/// Returns how often each step began, and how often its task was done.
fn runs(stage: &Stage) -> BTreeMap<String, (usize, usize)> {
    let of_task: BTreeMap<String, String> = stage
        .events_of("step_started")
        .iter()
        .map(|begun| {
            let text = |key: &str| begun[key].as_str().unwrap().to_owned();
            (text("task"), text("step"))
        })
        .collect();
    let mut runs: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for step in of_task.values() {
        runs.entry(step.clone()).or_default().0 += 1;
    }
    for finished in stage.events_of("task_finished") {
        let step = of_task.get(finished["id"].as_str().unwrap());
        if let Some(step) = step.filter(|_| finished["status"] == "done") {
            runs.entry(step.clone()).or_default().1 += 1;
        }
    }
    runs
}

/// Counts the events that advance a workflow or its tasks.
fn moved(stage: &Stage) -> usize {
    let kinds = [
        "workflow_created",
        "step_started",
        "task_started",
        "task_finished",
        "step_ended",
        "workflow_ended",
    ];
    let events = stage.events().into_iter();
    let is_move = |event: &Value| kinds.iter().any(|kind| event.get(kind).is_some());
    events.filter(is_move).count()
}

/// Projects that run at the same time; each spends most of its time waiting.
const AT_ONCE: usize = 4;

/// Kills the orchestrator at each boundary of the steps of a plan, each time in a project of its own, and lets the next one go on.
///
/// A workflow has two events of its own, and four for each step.
async fn check_killed_at_each_boundary(engine: Engine, plan: &[Value]) {
    let boundaries = futures::stream::iter(1..=2 + 4 * plan.len());
    boundaries.for_each_concurrent(AT_ONCE, |count| check_killed_after(engine, plan, count)).await;
}

/// Kills the orchestrator after `count` events of the workflow, and lets the next one go on.
async fn check_killed_after(engine: Engine, plan: &[Value], count: usize) {
    let stage = stage_on(engine);
    let lead = stage.orchestrator().await;
    let id = begin(&lead, plan).await;
    until("the workflow has had that many events", || moved(&stage) >= count).await;
    lead.die().await;
    let before = runs(&stage);
    let lead = stage.orchestrator().await;
    let now = status(&lead, &id).await;
    assert_ne!(now["status"], "failed", "killed after {count} moves: {now:#}");
    if now["status"] != "done" {
        let which = json!({ "workflow_id": id });
        lead.call("resume_workflow", which).await;
    }
    let steps = ended(&lead, &id, "done").await;
    let after = runs(&stage);
    assert_eq!(steps.len(), plan.len());
    for (name, step) in &steps {
        let (begun, done) = before.get(name).copied().unwrap_or_default();
        if done == 1 {
            assert_eq!(after[name], (begun, 1), "{name} ran again after {count} moves");
        }
        assert_eq!(after[name].1, 1, "{name}");
        let output = step["output"].as_str().unwrap();
        assert!(output.contains("Your task: "), "{output}");
        for earlier in step_of(plan, name)["depends_on"].as_array().unwrap() {
            let given = format!("--- Output of step {}, ", earlier.as_str().unwrap());
            assert_eq!(output.matches(&given).count(), 1, "{name}: {output}");
        }
    }
    lead.close().await;
}

fn step_of<'p>(plan: &'p [Value], name: &str) -> &'p Value {
    plan.iter().find(|step| step["name"] == name).unwrap()
}

async fn after_a_kill_at_any_boundary_of_its_steps_a_workflow_goes_on_and_repeats_nothing(
    engine: Engine,
) {
    let chain = [
        step("a", "writer", "one", &[]),
        step("b", "judge", "two", &["a"]),
        step("c", "writer", "three {{steps.a.output}}", &["b"]),
    ];
    check_killed_at_each_boundary(engine, &chain).await;
}

async fn after_a_kill_at_any_boundary_of_a_diamond_it_goes_on_and_repeats_nothing(engine: Engine) {
    let diamond = [
        step("a", "writer", "one", &[]),
        step("b", "writer", "two {{steps.a.output}}", &["a"]),
        step("c", "writer", "three", &["a"]),
        step("d", "judge", "four {{steps.c.output}}", &["b", "c"]),
    ];
    check_killed_at_each_boundary(engine, &diamond).await;
}
