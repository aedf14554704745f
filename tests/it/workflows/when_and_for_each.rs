//! Workflows that decide for themselves: steps that are needed or not, and steps that are done for each item of a list.

use serde_json::{Value, json};

use super::over_mcp::{PROFILES, begin, ended, step, steps};
use crate::support::Stage;

/// Agents that return a list, fail, or say their prompt.
const AGENTS: &str = r#"
[[agents.default.turns]]
when = "Your task: list"
steps = [{ say = "Here: ```json\n{\"files\": [{\"name\": \"a.rs\"}, {\"name\": \"b.rs\"}, {\"name\": \"c.rs\"}], \"ok\": false}\n```" }]
[[agents.default.turns]]
when = "Your task: fail"
steps = [{ fail = "no way" }]
[[agents.default.turns]]
when = "Your task: Seen"
steps = [{ say = "<{{prompt}}>" }]
[[agents.default.turns]]
when = "Your task: Look at b.rs"
times = 1
steps = [{ fail = "not yet" }]
[[agents.default.turns]]
when = "Wait for b.rs"
steps = [{ wait_for = { from = "gate", seconds = 100 }, save = "got" }, { say = "heard {{got.message.content}}" }]
[[agents.default.turns]]
when = "Your task: mark "
steps = [{ say = "{\"seen\": true}" }]
[[agents.default.turns]]
steps = [{ say = "<{{prompt}}>" }]
"#;

fn with(mut step: Value, fields: &[(&str, Value)]) -> Value {
    for (key, value) in fields {
        step[key] = value.clone();
    }
    step
}

#[tokio::test]
async fn a_step_is_done_for_each_item_of_a_list_and_all_outputs_are_passed_on() {
    let stage = Stage::new(AGENTS).with_profiles(PROFILES);
    let lead = stage.orchestrator().await;
    let look = step("look", "judge", "Look at {{item.name}}", &["list"]);
    let mark = step("mark", "judge", "mark {{item}}", &["look"]);
    let id = begin(
        &lead,
        &[
            step("list", "writer", "list", &[]),
            with(look, &[("for_each", json!("steps.list.json.files")), ("retries", json!(5))]),
            with(mark, &[("for_each", json!("steps.look.json"))]),
            step(
                "sum",
                "writer",
                "Seen: {{steps.mark.json.1.seen}} {{steps.look.output}}",
                &["look", "mark"],
            ),
        ],
    )
    .await;
    let steps = ended(&lead, &id, "done").await;
    assert_eq!(steps.len(), 4 + 3 + 3, "{steps:#?}");
    let first = steps["look.1"]["output"].as_str().unwrap();
    assert!(first.contains("Look at a.rs"), "{first}");
    assert!(!first.contains("Output of step list"), "{first}");
    // Each process fails once.
    let attempts = steps["look.2"]["attempts"].as_u64().unwrap();
    assert!((2..=4).contains(&attempts), "each is tried again");
    let sum = steps["sum"]["output"].as_str().unwrap();
    assert!(sum.contains("Seen: true"), "{sum}");
    for number in 1..=3 {
        let frame = format!("--- Output of step look.{number}, by ");
        assert!(sum.contains(&frame), "{sum}");
    }
    lead.close().await;
}

#[tokio::test]
async fn unneeded_steps_are_left_out_and_later_steps_go_on() {
    let stage = Stage::new(AGENTS).with_profiles(PROFILES);
    let lead = stage.orchestrator().await;
    let on = |name: &str, before: &str, when: &str| {
        with(step(name, "writer", "Say something", &[before]), &[("when", json!(when))])
    };
    let id = begin(
        &lead,
        &[
            step("list", "writer", "list", &[]),
            on("repair", "list", "steps.list.json.ok == false"),
            on("praise", "list", "steps.list.json.ok == true"),
            step("after", "writer", "Say more", &["repair", "praise"]),
            on("unclear", "list", "steps.list.json.verdict == good"),
        ],
    )
    .await;
    let steps = ended(&lead, &id, "failed").await;
    let status = |name: &str| steps[name]["status"].as_str().unwrap();
    assert_eq!(status("repair"), "done");
    assert_eq!(status("praise"), "unneeded");
    assert_eq!(
        steps["praise"]["reason"],
        "steps.list.json.ok == true is false: the value is `false`"
    );
    let after = steps["after"]["output"].as_str().unwrap();
    assert!(after.contains("Output of step repair"), "{after}");
    assert!(!after.contains("Output of step praise"), "{after}");
    assert_eq!(status("unclear"), "failed", "it has no answer");
    lead.close().await;
}

#[tokio::test]
async fn a_step_can_depend_on_the_failure_of_another_and_an_invalid_list_fails_its_step() {
    let stage = Stage::new(AGENTS).with_profiles(PROFILES);
    let lead = stage.orchestrator().await;
    let clean = with(
        step("clean", "writer", "It {{steps.try.status}}", &["try"]),
        &[("when", json!("steps.try.status != done"))],
    );
    let none = with(
        step("none", "writer", "{{item}}", &["words"]),
        &[("for_each", json!("steps.words.json"))],
    );
    let id = begin(
        &lead,
        &[
            step("try", "writer", "fail", &[]),
            clean,
            step("next", "writer", "x", &["try"]),
            step("words", "judge", "Say something", &[]),
            none,
        ],
    )
    .await;
    let steps = ended(&lead, &id, "failed").await;
    let clean = steps["clean"]["output"].as_str().unwrap();
    assert!(clean.contains("It failed"), "{clean}");
    assert_eq!(steps["next"]["status"], "skipped");
    assert_eq!(steps["none"]["status"], "failed");
    assert_eq!(steps["none"]["reason"], "the output of step `words` has no JSON in it");
    lead.close().await;
}

#[tokio::test]
async fn a_list_that_is_half_done_goes_on_after_a_kill() {
    let stage = Stage::new(AGENTS).with_profiles(PROFILES);
    let gate = stage.peer("gate").await;
    let lead = stage.orchestrator().await;
    let wait = with(
        step("wait", "judge", "Wait for {{item.name}}", &["list"]),
        &[("for_each", json!("steps.list.json.files"))],
    );
    let id = begin(&lead, &[step("list", "writer", "list", &[]), wait]).await;
    let which = json!({ "workflow_id": id });
    let is = |status: &Value, name: &str, expected: &str| {
        steps(status).get(name).is_some_and(|step| step["status"] == expected)
    };
    lead.until("get_workflow_status", which.clone(), |status| {
        is(status, "wait.1", "done")
            && is(status, "wait.2", "running")
            && is(status, "wait.3", "done")
    })
    .await;
    lead.die().await;
    let next = stage.orchestrator().await;
    next.call("resume_workflow", which.clone()).await;
    let status = next
        .until("get_workflow_status", which, |status| steps(status)["wait.2"]["attempts"] == 2)
        .await;
    let agent = steps(&status)["wait.2"]["agent"].clone();
    next.until_waiting(agent.as_str().unwrap()).await;
    gate.send(agent.as_str().unwrap(), "go").await;
    let steps = ended(&next, &id, "done").await;
    assert_eq!(steps["wait.2"]["output"], "heard go");
    for (name, attempts) in [("list", 1), ("wait.1", 1), ("wait.3", 1)] {
        assert_eq!(steps[name]["attempts"], attempts, "{name}");
    }
    gate.close().await;
    next.close().await;
}
