//! Agents that end and are resumed, and their models and modes.

use serde_json::{Value, json};

use crate::support::{Member, Stage, of_name};

const AGENTS: &str = r#"
[agents.default.start]
load = true
models = ["small", "large"]
modes = ["ask", "plan"]
[[agents.default.turns]]
steps = [{ say = "{{model}} {{mode}}" }]
"#;

/// Agents that report their mode as the output of a task, or in answer to a message.
const REPORT_MODE: &str = r#"
[agents.default.start]
load = true
models = ["small", "large"]
modes = ["ask", "plan"]
[[agents.default.turns]]
when = "tell your mode"
steps = [{ call = "send_message", with = { to = "orchestrator", content = "{{mode}}" } }]
[[agents.default.turns]]
steps = [{ say = "{{model}} {{mode}}" }]
"#;

/// Agents whose sessions end with their process.
const FORGETFUL: &str = r#"
[[agents.default.turns]]
steps = [{ say = "{{prompt}}" }]
"#;

const PROFILES: &str = r#"
[agents.planner]
command = "$self"
args = ["scripted-agent"]
env_pass = ["BRIDGE_SCRIPT"]
mode = "plan"
[agents.careful]
command = "$self"
args = ["scripted-agent"]
env_pass = ["BRIDGE_SCRIPT"]
mode = "plan"
modes = { allow = "ask" }
[agents.odd]
command = "$self"
args = ["scripted-agent"]
env_pass = ["BRIDGE_SCRIPT"]
mode = "plam"
"#;

async fn end(lead: &Member, name: &str) {
    lead.call("shutdown_agent", json!({ "agent": name })).await;
    lead.until_agent(name, |agent| agent["status"] == "dead").await;
}

async fn assign(lead: &Member, task: Value) -> (Value, Value) {
    let assigned = lead.call("assign_task", task).await;
    let task = assigned["task_id"].as_str().unwrap().to_owned();
    (assigned, lead.ended(&task).await)
}

/// Returns the ACP sessions of the agents, one for each process.
fn acp_sessions(stage: &Stage) -> Vec<Value> {
    let runs = stage.events_of("agent_runs").into_iter();
    runs.filter_map(|run| run.get("acp_session").cloned()).collect()
}

#[tokio::test]
async fn an_ended_agent_is_resumed_by_name_with_its_conversation_and_its_model() {
    let stage = Stage::new(AGENTS);
    let lead = stage.orchestrator().await;
    let first = json!({ "agent": "scripted", "name": "ann", "prompt": "hello", "model": "large" });
    let (_, result) = assign(&lead, first).await;
    assert_eq!(result["output"], "large ask");
    assert_eq!(result["context"], "new");
    end(&lead, "ann").await;
    lead.send("ann", "while you were away").await;

    let (assigned, result) = assign(&lead, json!({ "agent": "Ann", "prompt": "again" })).await;
    assert_eq!(assigned["agent"], "ann");
    let note = assigned["note"].as_str().unwrap();
    assert!(note.starts_with("`ann` was restarted; `context` of its result says"), "{note}");
    assert_eq!(result["context"], "resumed", "{result}");
    assert_eq!(result["output"], "large ask", "{result}");
    let sessions = acp_sessions(&stage);
    assert_eq!(sessions.len(), 2);
    assert_eq!(sessions[0], sessions[1]);
    let handed = stage.events_of("message_handed").into_iter();
    let to_ann = handed.filter(|handed| handed["member"] == "ann").count();
    assert_eq!(to_ann, 1, "its mail waited");
    end(&lead, "ann").await;

    // The result says itself what became of the conversation.
    let waited = json!({ "agent": "ann", "prompt": "once more", "resume": true, "wait": true });
    let waited = lead.call("assign_task", waited).await;
    assert_eq!(waited["context"], "resumed", "{waited}");
    assert_eq!(waited["note"], "`ann` was restarted", "{waited}");
    end(&lead, "ann").await;

    // Another orchestrator can resume it too, also without its conversation.
    lead.close().await;
    let lead = stage.orchestrator().await;
    let fresh = json!({ "agent": "ann", "prompt": "anew", "fresh": true });
    let (assigned, result) = assign(&lead, fresh).await;
    let note = assigned["note"].as_str().unwrap();
    assert!(note.ends_with("its conversation starts empty"), "{note}");
    assert_eq!(result["context"], "new", "{result}");
    assert_eq!(result["output"], "small ask");
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn an_agent_that_cannot_resume_its_conversation_reports_it_lost() {
    let stage = Stage::new(FORGETFUL);
    let lead = stage.orchestrator().await;
    lead.start_and_wait("forgetful", "hello").await;
    end(&lead, "forgetful").await;
    let back = json!({ "agent": "forgetful", "prompt": "again" });
    let (_, result) = assign(&lead, back).await;
    assert_eq!(result["context"], "lost", "{result}");
    // So its prompt has the primer again.
    let prompt = result["output"].as_str().unwrap();
    assert!(
        prompt.contains("Your task: again") && prompt.contains("You are `forgetful`"),
        "{prompt}"
    );
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn a_profile_name_starts_a_new_agent_unless_a_resume_is_requested() {
    let stage = Stage::new(AGENTS);
    let lead = stage.orchestrator().await;
    let new = json!({ "agent": "scripted", "prompt": "hello" });
    let (assigned, _) = assign(&lead, new.clone()).await;
    assert_eq!(assigned["agent"], "scripted");
    end(&lead, "scripted").await;
    let (_, result) = assign(&lead, new).await;
    assert_eq!(result["context"], "new", "{result}");
    end(&lead, "scripted").await;
    let back = json!({ "agent": "scripted", "prompt": "again", "resume": true });
    let (_, result) = assign(&lead, back).await;
    assert_eq!(result["context"], "resumed", "{result}");

    let unknown = json!({ "agent": "nobody", "prompt": "x", "resume": true });
    let refused = lead.refused("assign_task", unknown).await;
    assert_eq!(refused, "no ended agent is named `nobody`: assign without `resume` to start one");
    let both = json!({ "agent": "scripted", "name": "ann", "prompt": "x", "resume": true });
    let refused = lead.refused("assign_task", both).await;
    assert!(refused.starts_with("`name` starts a new agent, "), "{refused}");
    end(&lead, "scripted").await;
    let elsewhere = json!({ "agent": "scripted", "prompt": "x", "resume": true, "cwd": ".claude" });
    let refused = lead.refused("assign_task", elsewhere).await;
    assert!(refused.starts_with("`scripted` works in another directory"), "{refused}");
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn a_new_agent_with_the_name_of_an_ended_one_says_how_that_is_resumed() {
    let stage = Stage::new(AGENTS);
    let lead = stage.orchestrator().await;
    let new = json!({ "agent": "scripted", "prompt": "hello" });
    let (assigned, _) = assign(&lead, new.clone()).await;
    assert!(assigned.get("note").is_none(), "{assigned}");
    let listed = lead.call("list_agents", json!({})).await;
    let earlier = of_name(&listed, "scripted").unwrap()["id"].as_str().unwrap().to_owned();
    end(&lead, "scripted").await;

    let (assigned, result) = assign(&lead, new.clone()).await;
    assert_eq!(assigned["agent"], "scripted");
    assert_eq!(result["context"], "new", "{result}");
    let note = format!(
        "`scripted` is a new agent with an empty conversation; to go on with that of the earlier \
         `scripted`, use agent `{earlier}` with `resume`"
    );
    assert_eq!(assigned["note"], note, "{assigned}");
    let (assigned, _) = assign(&lead, new).await;
    assert!(assigned.get("note").is_none(), "it lives: {assigned}");

    let back = json!({ "agent": earlier, "prompt": "again", "resume": true });
    let (assigned, result) = assign(&lead, back).await;
    assert_eq!(assigned["agent"], "scripted-2", "{assigned}");
    assert_eq!(result["context"], "resumed", "{result}");
    let note = assigned["note"].as_str().unwrap();
    assert!(note.starts_with("an ended `scripted` was restarted as `scripted-2`; "), "{note}");
    let never = json!({ "agent": "s99", "prompt": "again", "resume": true });
    let refused = lead.refused("assign_task", never).await;
    assert!(refused.starts_with("no ended agent is named `s99`"), "{refused}");
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn a_conversation_that_goes_on_already_is_not_resumed_a_second_time() {
    let program = env!("CARGO_BIN_EXE_cli-team-bridge");
    let profile = format!(
        "[agents.real]\ncommand = {program:?}\nargs = [\"scripted-agent\"]\nenv_pass = [\"BRIDGE_SCRIPT\"]\n"
    );
    let stage = Stage::new(AGENTS).with_profiles(&profile);
    let lead = stage.orchestrator().await;
    assign(&lead, json!({ "agent": "real", "prompt": "hello" })).await;
    let listed = lead.call("list_agents", json!({})).await;
    let earlier = of_name(&listed, "real").unwrap()["id"].clone();
    end(&lead, "real").await;
    let back = json!({ "agent": "real", "prompt": "again", "resume": true });
    assert_eq!(assign(&lead, back).await.1["context"], "resumed");
    let again = json!({ "agent": earlier, "prompt": "again", "resume": true });
    let refused = lead.refused("assign_task", again).await;
    let earlier = earlier.as_str().unwrap();
    assert_eq!(
        refused,
        format!("the conversation of `{earlier}` goes on already, as `real`: assign to `real`")
    );
    lead.close().await;
    stage.check_nobody_is_left();
}

/// Otherwise the next agent of the profile would be `scripted-2`, and the one after that `scripted-3`.
#[tokio::test]
async fn a_name_of_the_bridges_choice_is_free_again_after_its_agent_was_resumed() {
    let stage = Stage::new(AGENTS);
    let lead = stage.orchestrator().await;
    let task = |resume: bool| json!({ "agent": "scripted", "prompt": "x", "resume": resume });
    for resume in [false, true, false, true, false] {
        let (assigned, _) = assign(&lead, task(resume)).await;
        assert_eq!(assigned["agent"], "scripted", "{assigned}");
        end(&lead, "scripted").await;
    }
    // A name that somebody has given stays its own, and then the answer says so.
    let named = json!({ "agent": "scripted", "name": "scripted", "prompt": "x" });
    assign(&lead, named).await;
    end(&lead, "scripted").await;
    let (assigned, _) = assign(&lead, task(false)).await;
    assert_eq!(assigned["agent"], "scripted-2", "{assigned}");
    let note = "the new agent is `scripted-2`, because the name `scripted` was given to an agent that has ended, \
        and is kept for its return: `resume` brings it back";
    assert_eq!(assigned["note"], note, "{assigned}");
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn an_unknown_model_is_refused_with_the_models_that_the_agent_offers() {
    let stage = Stage::new(AGENTS);
    let lead = stage.orchestrator().await;
    let new = json!({ "agent": "scripted", "name": "ann", "prompt": "x", "model": "lage" });
    let (_, result) = assign(&lead, new).await;
    assert_eq!(result["status"], "failed", "{result}");
    let message =
        r#"the agent has no model "lage"; did you mean "large"? It offers "small", "large""#;
    let error = json!({ "class": "model", "message": message, "known": ["small", "large"] });
    assert_eq!(result["error"], error);
    // Once the agent runs, its models are known and the task is refused at once.
    let again = json!({ "agent": "ann", "prompt": "x", "model": "lage" });
    let refused = lead.refused("assign_task", again).await;
    assert_eq!(refused, format!("`ann` cannot take this task: {message}"));
    let right = json!({ "agent": "ann", "prompt": "x", "model": "large" });
    assert_eq!(assign(&lead, right).await.1["output"], "large ask");
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn a_mode_follows_the_policy_of_each_task() {
    let stage = Stage::new(REPORT_MODE).with_profiles(PROFILES);
    let lead = stage.orchestrator().await;
    let task = |policy: Option<&str>, fresh: bool| {
        let mut task = json!({ "agent": "careful", "prompt": "x", "fresh": fresh });
        if let Some(policy) = policy {
            task["permissions"] = json!(policy);
        }
        task
    };
    for (policy, fresh, expected) in [
        (Some("allow"), false, "small ask"),
        (None, false, "small plan"),
        (Some("allow"), false, "small ask"),
        (Some("deny"), false, "small plan"),
        (Some("allow"), true, "small ask"),
        (Some("ask"), true, "small plan"),
    ] {
        let (_, result) = assign(&lead, task(policy, fresh)).await;
        assert_eq!(result["output"], expected, "{policy:?} {fresh}: {result}");
    }
    // A message is no task: it is handled in the mode of the profile's policy.
    assign(&lead, task(Some("allow"), false)).await;
    lead.send("careful", "tell your mode").await;
    assert_eq!(lead.hear_from("careful").await, "plan");
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn the_mode_of_a_profile_applies_in_a_fresh_session_too() {
    let stage = Stage::new(AGENTS).with_profiles(PROFILES);
    let lead = stage.orchestrator().await;
    let new = json!({ "agent": "planner", "prompt": "x" });
    let (_, result) = assign(&lead, new).await;
    assert_eq!(result["output"], "small plan", "{result}");
    let fresh = json!({ "agent": "planner", "prompt": "x", "fresh": true });
    assert_eq!(assign(&lead, fresh).await.1["output"], "small plan");

    let (_, result) = assign(&lead, json!({ "agent": "odd", "prompt": "x" })).await;
    assert_eq!(result["status"], "failed", "{result}");
    assert_eq!(result["error"]["class"], "mode", "{result}");
    assert_eq!(result["error"]["known"], json!(["ask", "plan"]));
    let message = result["error"]["message"].as_str().unwrap();
    assert!(
        message.starts_with(
            r#"its agent did not start: the agent has no mode "plam"; did you mean "plan"?"#
        ),
        "{message}"
    );
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn an_agent_of_a_moved_project_is_resumed_where_its_directory_is_now() {
    let mut stage = Stage::new(AGENTS);
    for directory in ["inside", "gone"] {
        std::fs::create_dir(stage.project().join(directory)).unwrap();
    }
    let lead = stage.orchestrator().await;
    for (name, cwd) in [("ann", "."), ("ben", "inside"), ("cem", "gone")] {
        let first = json!({ "agent": "scripted", "name": name, "prompt": "hello", "cwd": cwd });
        assign(&lead, first).await;
        end(&lead, name).await;
    }
    lead.close().await;
    std::fs::remove_dir(stage.project().join("gone")).unwrap();
    stage.move_project();

    // The second session finds the place that the first one has noted.
    for _ in 0..2 {
        let lead = stage.orchestrator().await;
        for (name, place) in [("ann", ""), ("ben", "inside")] {
            let again = json!({ "agent": name, "prompt": "again", "resume": true });
            let (_, result) = assign(&lead, again).await;
            assert_eq!(result["context"], "resumed", "{result}");
            let agents = lead.call("list_agents", json!({})).await;
            let agents = agents["agents"].as_array().unwrap();
            let agent = agents.iter().find(|agent| agent["name"] == name).unwrap();
            let cwd = std::path::Path::new(agent["cwd"].as_str().unwrap());
            assert_eq!(cwd, stage.project().join(place).canonicalize().unwrap());
            end(&lead, name).await;
        }
        lead.close().await;
    }
    let lead = stage.orchestrator().await;
    let other = json!({ "agent": "ben", "prompt": "again", "resume": true, "cwd": "." });
    let refused = lead.refused("assign_task", other).await;
    assert!(refused.contains("works in another directory"), "{refused}");
    let nowhere = json!({ "agent": "cem", "prompt": "again", "resume": true });
    let refused = lead.refused("assign_task", nowhere).await;
    assert!(refused.contains("does not exist"), "{refused}");
    let there = json!({ "agent": "cem", "prompt": "again", "resume": true, "cwd": "inside" });
    let (assigned, _) = assign(&lead, there).await;
    assert_eq!(assigned["agent"], "cem");
    lead.close().await;
}
