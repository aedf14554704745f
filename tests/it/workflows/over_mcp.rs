//! Workflows over MCP with real processes: order, flow of outputs, failures, cancelling, and going on after a kill.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::each_engine::Engine;
use crate::support::{Member, Stage, until};

/// Agents whose behaviour depends on the first words of their task.
pub(crate) const AGENTS: &str = r#"
[[agents.default.turns]]
when = "Your task: long"
steps = [{ stream = "0123456789", chunk = 10, every_ms = 0 }, { repeat = 7000, steps = [{ say = "0123456789" }] }]
[[agents.default.turns]]
when = "Your task: rest of "
steps = [
  { call = "check_messages", with = { id = "{{prompt}}" }, expect_error = true },
  { say = "{{last.error}}" },
]
[[agents.default.turns]]
when = "Your task: wait"
steps = [{ wait_for = { from = "gate", seconds = 100 }, save = "got" }, { say = "heard {{got.message.content}}" }]
[[agents.default.turns]]
when = "Your task: hang"
steps = [{ hang = true }]
[[agents.default.turns]]
when = "Your task: fail once"
times = 1
steps = [{ fail = "not yet" }]
[[agents.default.turns]]
when = "Your task: fail always"
steps = [{ fail = "no way" }]
[[agents.default.turns]]
when = "Your task: crash"
steps = [{ stderr = "out of memory" }, { crash = 7 }]
[[agents.default.turns]]
when = "Your task: look"
steps = [{ say = "seen" }]
[[agents.default.turns]]
when = "Your task: improve"
steps = [{ fork = "echo better >> $HOME/work" }, { say = "{{prompt}}" }]
[[agents.default.turns]]
when = "Your task: json"
steps = [{ say = "It is ```json\n{\"verdict\": \"good\"}\n```" }]
[[agents.default.turns]]
steps = [{ say = "<{{name}}: {{prompt}}>" }]
"#;

/// Two profiles that play the same script.
pub(crate) const PROFILES: &str = r#"
[agents.writer]
command = "$self"
args = ["scripted-agent"]
env_pass = ["BRIDGE_SCRIPT"]
[agents.judge]
command = "$self"
args = ["scripted-agent"]
env_pass = ["BRIDGE_SCRIPT"]
[agents.absent]
command = "no-such-program-anywhere"
"#;

pub(crate) fn stage() -> Stage {
    stage_on(Engine::Files)
}

pub(crate) fn stage_on(engine: Engine) -> Stage {
    Stage::new(AGENTS).with_profiles(&format!("{}{PROFILES}", engine.settings()))
}

pub(crate) fn step(name: &str, agent: &str, prompt: &str, depends_on: &[&str]) -> Value {
    json!({ "name": name, "agent": agent, "prompt": prompt, "depends_on": depends_on })
}

/// Begins a workflow, and returns its id.
pub(crate) async fn begin(lead: &Member, steps: &[Value]) -> String {
    let new = json!({ "name": "test", "steps": steps });
    let created = lead.call("create_workflow", new).await;
    assert_eq!(created["status"], "running", "{created}");
    created["workflow_id"].as_str().unwrap().to_owned()
}

pub(crate) async fn status(lead: &Member, id: &str) -> Value {
    let which = json!({ "workflow_id": id });
    lead.call("get_workflow_status", which).await
}

/// Waits for the end of a workflow, and returns its steps by name.
pub(crate) async fn ended(lead: &Member, id: &str, expected: &str) -> BTreeMap<String, Value> {
    let which = json!({ "workflow_id": id });
    let over =
        lead.until("get_workflow_status", which, |status| status["status"] != "running").await;
    assert_eq!(over["status"], expected, "{over:#}");
    steps(&over)
}

pub(crate) fn steps(status: &Value) -> BTreeMap<String, Value> {
    let steps = status["steps"].as_array().unwrap().iter();
    let named = steps.map(|step| (step["name"].as_str().unwrap().to_owned(), step.clone()));
    named.collect()
}

/// Waits until a step has a status.
pub(crate) async fn step_is(lead: &Member, id: &str, name: &str, expected: &str) {
    let which = json!({ "workflow_id": id });
    lead.until("get_workflow_status", which, |status| steps(status)[name]["status"] == expected)
        .await;
}

#[tokio::test]
async fn a_chain_hands_each_output_on_to_the_next() {
    let stage = stage();
    let lead = stage.orchestrator().await;
    let id = begin(
        &lead,
        &[
            step("draft", "writer", "json", &[]),
            step("check", "judge", "Is {{steps.draft.json.verdict}} enough?", &["draft"]),
            step("sum", "writer", "Sum up", &["check"]),
        ],
    )
    .await;
    let steps = ended(&lead, &id, "done").await;
    let check = steps["check"]["output"].as_str().unwrap();
    assert!(check.contains("<judge: "), "{check}");
    assert!(check.contains("Is good enough?"), "{check}");
    let sum = steps["sum"]["output"].as_str().unwrap();
    assert!(sum.contains("--- Output of step check, by judge ---\n  <judge: "), "{sum}");
    assert_eq!(steps["sum"]["agent"], "writer", "a free agent is used again");
    lead.hear_notice("(\"test\") is done: 3 of 3 steps done").await;
    let notices = lead.all_heard().await;
    assert!(notices.is_empty(), "only the end is reported: {notices:?}");
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn independent_steps_run_at_once_with_agents_of_their_own() {
    let stage = stage();
    let lead = stage.orchestrator().await;
    let gate = stage.peer("gate").await;
    let id = begin(
        &lead,
        &[
            step(
                "last",
                "judge",
                "{{steps.left.output}} or {{steps.right.output}}?",
                &["left", "right"],
            ),
            step("left", "writer", "wait", &["first"]),
            step("right", "writer", "wait", &["first"]),
            step("first", "writer", "begin", &[]),
        ],
    )
    .await;
    lead.until_waiting("writer").await;
    lead.until_waiting("writer-2").await;
    let now = steps(&status(&lead, &id).await);
    assert_eq!(now["last"]["waits_for"], json!(["left", "right"]));
    gate.send("writer", "L").await;
    gate.send("writer-2", "R").await;
    let steps = ended(&lead, &id, "done").await;
    let last = steps["last"]["output"].as_str().unwrap();
    let (left, right) = (last.find("heard L"), last.find("heard R"));
    assert!(left.is_some() && right.is_some(), "{last}");
    lead.close().await;
    gate.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn a_step_that_names_a_live_agent_is_done_by_that_one() {
    let stage = stage();
    let lead = stage.orchestrator().await;
    lead.start_and_wait("ann", "hello").await;
    let id = begin(
        &lead,
        &[step("", "ann", "one", &[]), step("two", "ANN", "two", &[])].map(|mut step| {
            if step["name"] == "" {
                step["name"] = Value::Null;
            }
            step
        }),
    )
    .await;
    let steps = ended(&lead, &id, "done").await;
    assert_eq!(steps["ann"]["agent"], "ann");
    assert_eq!(steps["two"]["agent"], "ann");
    lead.close().await;
}

#[tokio::test]
async fn a_failure_stops_only_the_steps_that_depend_on_it() {
    let stage = stage();
    let lead = stage.orchestrator().await;
    let id = begin(
        &lead,
        &[
            step("bad", "writer", "fail always", &[]),
            step("after", "writer", "x", &["bad"]),
            step("later", "writer", "x", &["after", "good"]),
            step("good", "judge", "x", &[]),
            step("better", "judge", "x", &["good"]),
        ],
    )
    .await;
    let steps = ended(&lead, &id, "failed").await;
    let statuses: Vec<_> = steps
        .iter()
        .map(|(name, step)| (name.as_str(), step["status"].as_str().unwrap()))
        .collect();
    assert_eq!(
        statuses,
        [
            ("after", "skipped"),
            ("bad", "failed"),
            ("better", "done"),
            ("good", "done"),
            ("later", "skipped"),
        ]
    );
    assert!(steps["bad"]["reason"].as_str().unwrap().contains("no way"));
    assert_eq!(steps["after"]["reason"], "bad has failed");
    lead.hear_notice("has failed: 2 of 5 steps done; bad failed: \"").await;
    lead.close().await;
}

#[tokio::test]
async fn retries_fallbacks_and_time_limits_are_kept() {
    let stage = stage();
    let lead = stage.orchestrator().await;
    let with = |mut step: Value, more: Value| {
        let more = more.as_object().unwrap().clone();
        step.as_object_mut().unwrap().extend(more);
        step
    };
    let id = begin(
        &lead,
        &[
            with(step("again", "writer", "fail once", &[]), json!({ "retries": 2 })),
            with(step("other", "absent", "x", &[]), json!({ "fallback": ["judge"] })),
            with(
                step("crashed", "judge", "crash", &[]),
                json!({ "fallback": ["absent", "writer"] }),
            ),
            with(step("slow", "writer", "hang", &[]), json!({ "timeout_seconds": 1 })),
        ],
    )
    .await;
    let steps = ended(&lead, &id, "failed").await;
    assert_eq!(steps["again"]["status"], "done");
    assert_eq!(steps["again"]["attempts"], 2);
    assert_eq!(steps["other"]["status"], "done");
    assert!(steps["other"]["agent"].as_str().unwrap().starts_with("judge"));
    assert_eq!(steps["crashed"]["status"], "failed");
    assert_eq!(steps["crashed"]["attempts"], 2);
    assert_eq!(steps["slow"]["status"], "failed");
    assert_eq!(steps["slow"]["reason"], "it took longer than 1 s");
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn a_step_waits_for_approval_and_a_refusal_stops_its_dependents() {
    let stage = stage();
    let lead = stage.orchestrator().await;
    let gated = |name: &str, agent: &str| {
        let mut step = step(name, agent, "x", &[]);
        step["approve"] = json!("human");
        step
    };
    let id = begin(
        &lead,
        &[gated("yes", "writer"), gated("no", "judge"), step("after", "writer", "x", &["no"])],
    )
    .await;
    lead.hear_notice("the step `yes` waits for your user's approval").await;
    step_is(&lead, &id, "no", "asking").await;
    let answer = |step: &str, approved: bool| {
        let reason = (!approved).then_some("not today");
        json!({ "workflow_id": id, "step": step, "approved": approved, "reason": reason })
    };
    lead.call("approve_step", answer("yes", true)).await;
    lead.call("approve_step", answer("no", false)).await;
    let steps = ended(&lead, &id, "failed").await;
    assert_eq!(steps["yes"]["status"], "done");
    assert_eq!(steps["no"]["status"], "cancelled");
    assert_eq!(steps["no"]["reason"], "refused by the user: not today");
    assert_eq!(steps["after"]["status"], "skipped");
    let late = lead.refused("approve_step", answer("yes", true)).await;
    assert_eq!(late, format!("the workflow `{id}` has failed already"));
    lead.close().await;
}

#[tokio::test]
async fn a_cancelled_workflow_ends_its_running_steps_and_begins_no_more() {
    let stage = stage();
    let lead = stage.orchestrator().await;
    let chain = [step("a", "writer", "hang", &[]), step("b", "judge", "x", &["a"])];
    let id = begin(&lead, &chain).await;
    step_is(&lead, &id, "a", "running").await;
    let which = json!({ "workflow_id": id });
    lead.call("cancel_workflow", which.clone()).await;
    let steps = ended(&lead, &id, "cancelled").await;
    assert_eq!(steps["a"]["status"], "cancelled");
    assert_eq!(steps["b"]["status"], "cancelled");
    let again = lead.refused("cancel_workflow", which).await;
    assert_eq!(again, format!("the workflow `{id}` was cancelled already"));
    lead.until_idle("writer").await;
    lead.close().await;
}

#[tokio::test]
async fn every_problem_of_a_plan_is_reported_at_once_and_nothing_begins() {
    let stage = stage();
    let lead = stage.orchestrator().await;
    let plan = json!({ "name": "x", "steps": [
        { "name": "a", "agent": "writr", "prompt": "{{steps.b.output}}", "depends_on": ["c"] },
        { "name": "b", "agent": "absent", "prompt": "x", "depends_on": ["b"] },
    ] });
    let refused = lead.refused("create_workflow", plan).await;
    for problem in [
        "steps[0].agent: `writr` is neither a live agent nor a profile: did you mean `writer`?",
        "steps[0].depends_on[0]: no step is named `c`",
        "steps[1].agent: the profile `absent` needs the program `no-such-program-anywhere`, which is not on PATH",
        "in a cycle: b → b",
        "steps[0].prompt: a placeholder names the step `b`, which this step does not depend on",
    ] {
        assert!(refused.contains(problem), "{problem}: {refused}");
    }
    let dry = json!({ "name": "x", "dry_run": true, "steps": [
        step("c", "writer", "x", &["a", "b"]), step("a", "writer", "x", &[]), step("b", "judge", "x", &[]),
    ] });
    let planned = lead.call("create_workflow", dry).await;
    assert_eq!(planned["order"], json!([["a", "b"], ["c"]]));
    assert_eq!(planned["status"], "planned");
    let all = lead.call("get_workflow_status", json!({})).await;
    assert_eq!(all["workflows"], json!([]));
    assert!(stage.events_of("member_starting").is_empty());
    lead.close().await;
}

#[tokio::test]
async fn a_gate_decides_and_its_output_goes_to_the_next_attempt() {
    let stage = stage();
    let lead = stage.orchestrator().await;
    let gated = |mut step: Value, script: &str, more: Value| {
        step["gate"] = json!(["sh", "-c", script]);
        let more = more.as_object().unwrap().clone();
        step.as_object_mut().unwrap().extend(more);
        step
    };
    // The gate passes when the work was improved three times. The command that improves it may outlive its turn, so the gate
    // waits until there are as many improvements as runs of the gate.
    let three = "echo asked >> $HOME/asked; asked=$(grep -c asked $HOME/asked); \
        until n=$(grep -cs better $HOME/work) && test $n -ge $asked; do sleep 0.02; done; \
        echo only $n; test $n -ge 3";
    let id = begin(
        &lead,
        &[
            step("write", "writer", "improve", &[]),
            gated(
                step("judge", "judge", "look", &["write"]),
                three,
                json!({ "repeat": 5, "repeat_steps": ["write"] }),
            ),
            gated(step("never", "writer", "x", &[]), "echo no >&2; exit 3", json!({})),
            gated(step("slow", "writer", "x", &[]), "sleep 60", json!({ "gate_seconds": 1 })),
        ],
    )
    .await;
    let steps = ended(&lead, &id, "failed").await;
    assert_eq!(steps["judge"]["status"], "done");
    assert_eq!(steps["judge"]["attempts"], 3);
    assert_eq!(steps["write"]["attempts"], 3);
    let write = steps["write"]["output"].as_str().unwrap();
    assert!(
        write.contains("--- Why the last attempt failed ---\n  [\"sh\", \"-c\", \"echo asked")
            && write.contains("\n  only 2\n"),
        "{write}"
    );
    assert_eq!(steps["never"]["status"], "failed");
    let reason = steps["never"]["reason"].as_str().unwrap();
    assert!(reason.contains("ended with") && reason.ends_with("\nno"), "{reason}");
    assert_eq!(steps["slow"]["reason"], r#"["sh", "-c", "sleep 60"] took longer than 1 s"#);
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn a_gate_dies_with_its_workflow() {
    let stage = stage();
    let lead = stage.orchestrator().await;
    let mut slow = step("slow", "writer", "x", &[]);
    slow["gate"] = json!(["sh", "-c", "touch $HOME/began; sleep 300"]);
    let id = begin(&lead, &[slow]).await;
    let began = stage.home().join("began");
    until("the gate runs", || began.exists()).await;
    let cancelled = lead.call("cancel_workflow", json!({ "workflow_id": id })).await;
    assert_eq!(cancelled["status"], "cancelled");
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn a_plan_in_a_file_runs_and_a_slip_in_it_is_reported_with_its_place() {
    let stage = stage();
    let plan = r#"
name = "from a file"

[[steps]]
name = "one"
agent = "writer"
prompt = """
several
lines"""

[[steps]]
agent = "judge"
prompt = "x"
depends_on = ["one"]
"#;
    std::fs::write(stage.project().join("plan.toml"), plan).unwrap();
    let slip = plan.replace("depends_on", "depend_on");
    std::fs::write(stage.project().join("slip.toml"), slip).unwrap();
    let lead = stage.orchestrator().await;
    let created = lead.call("create_workflow", json!({ "file": "plan.toml" })).await;
    let steps = ended(&lead, created["workflow_id"].as_str().unwrap(), "done").await;
    assert!(steps["one"]["output"].as_str().unwrap().contains("several\nlines"));
    assert_eq!(
        lead.refused("create_workflow", json!({ "file": "slip.toml" })).await,
        "slip.toml:14:1: unknown key `depend_on` in a step: did you mean `depends_on`?"
    );
    let neither = lead.refused("create_workflow", json!({ "name": "x" })).await;
    assert!(neither.contains("or `file` alone"), "{neither}");
    lead.close().await;
}

#[tokio::test]
async fn a_long_output_is_passed_on_by_its_head_and_only_its_readers_can_read_the_rest() {
    let stage = stage();
    let lead = stage.orchestrator().await;
    let id =
        begin(&lead, &[step("long", "writer", "long", &[]), step("next", "judge", "x", &["long"])])
            .await;
    let steps = ended(&lead, &id, "done").await;
    let task = steps["long"]["task_id"].as_str().unwrap();
    assert_eq!(steps["long"]["output_bytes"], 70_010);
    let mut next = String::new();
    loop {
        let part = json!({ "task_id": steps["next"]["task_id"], "offset": next.len() });
        let part = lead.call("get_task_result", part).await;
        next.push_str(part["output"].as_str().unwrap());
        if part["next_offset"].is_null() {
            break;
        }
    }
    let reference = format!(
        "[32768 of 70010 bytes shown: check_messages with id {task} and offset 32768 returns the rest]"
    );
    assert!(next.contains(&reference), "{}", &next[next.len() - 500..]);
    let (mut read, mut offset) = (0, json!(32_768));
    while !offset.is_null() {
        let rest = json!({ "id": task, "offset": offset });
        let rest = lead.call("check_messages", rest).await;
        let message = &rest["messages"][0];
        read += message["content"].as_str().unwrap().len();
        offset = message["next_offset"].clone();
    }
    assert_eq!(read, 70_010 - 32_768);
    let gate = stage.peer("gate").await;
    let refused = gate.refused("check_messages", json!({ "id": task })).await;
    assert_eq!(refused, format!("there is no task `{task}`, or it is too old to be found"));
    gate.close().await;
    lead.close().await;
}
