//! Tasks and their turns: cancelling, waiting, choosing a model, a directory and a session, and agents that lack a capability.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::results::git;
use crate::ending::signals_and_shutdown::AGENTS;
use crate::support::{Raw, Stage, until};

#[tokio::test]
async fn a_running_or_queued_task_is_cancelled_and_its_agent_goes_on() {
    let stage = Stage::new(AGENTS);
    let lead = stage.orchestrator().await;
    let running = lead.start("ann", "hang").await;
    let queued = lead.assign("ann", "never").await;
    lead.task_is(&running, "running").await;
    for task in [&queued, &running] {
        let cancelled = lead.call("cancel_task", json!({ "task_id": task })).await;
        assert_eq!(cancelled, json!({ "task_id": task, "cancelled": true, "status": "cancelled" }));
    }
    let result = lead.ended(&queued).await;
    assert_eq!(result["error"]["message"], "cancelled by orchestrator");
    let result = lead.ended(&running).await;
    assert_eq!(result["stop_reason"], "cancelled", "{result}");
    let again = lead.refused("cancel_task", json!({ "task_id": running })).await;
    assert_eq!(again, format!("the task `{running}` was cancelled already"));
    assert_eq!(lead.assign_and_wait("ann", "go on").await, "Your task: go on");
    lead.close().await;
}

/// An agent that repeats each of its prompts, and does not end the first of its tasks.
const REPEATING: &str = r#"
[[agents.ann.turns]]
when = "the first task"
steps = [{ say = "{{prompt}}" }, { call = "wait_for_message", with = { timeout_seconds = 60 } }]
[[agents.ann.turns]]
steps = [{ say = "{{prompt}}" }]
"#;

/// A git that hangs while a file `slow` is beside it.
const SLOW_GIT: &str = r#"#!/bin/sh
[ -e "${0%/*}/slow" ] && exec sleep 30
PATH=${PATH#*:} exec git "$@"
"#;

#[tokio::test]
async fn an_agent_whose_first_prompt_was_never_sent_is_introduced_by_its_next() {
    let stage = Stage::new(REPEATING);
    git(stage.project(), stage.home(), &["init", "-q"]);
    let bin = stage.home().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::fs::write(bin.join("git"), SLOW_GIT).unwrap();
    std::fs::set_permissions(bin.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = [bin.clone().into_os_string(), std::env::var_os("PATH").unwrap()];
    let path = std::env::join_paths(path.iter().flat_map(std::env::split_paths)).unwrap();
    let stage = stage.with_variable("PATH", path.to_str().unwrap());
    let lead = stage.orchestrator().await;
    // The prompt waits for git's first look.
    std::fs::write(bin.join("slow"), "").unwrap();
    let first = lead.start("ann", "the first task").await;
    lead.call("cancel_task", json!({ "task_id": first })).await;
    let first = lead.ended(&first).await["output"].to_string();
    std::fs::remove_file(bin.join("slow")).unwrap();
    let second = lead.assign_and_wait("ann", "the second task").await;
    // A machine that is too busy to cancel within git's time has sent the first prompt.
    let introduced = [&first, &second].map(|said| said.contains("You are `ann`"));
    assert_eq!(introduced, [!introduced[1], introduced[1]], "{first} {second}");
    lead.close().await;
}

#[tokio::test]
async fn a_wait_for_a_task_reports_progress_and_can_be_cancelled() {
    let stage = Stage::new(AGENTS);
    let gate = stage.peer("gate").await;
    let mut lead = Raw::open(stage.start(&["orchestrator"]).await).await;
    let arguments = json!({ "agent": "scripted", "name": "ann", "prompt": "wait", "wait": true });
    let params = json!({
        "name": "assign_task", "arguments": arguments, "_meta": { "progressToken": "how far" }
    });
    let waiting = lead.request("tools/call", params).await;
    let progress = lead.hear().await;
    assert_eq!(progress["method"], "notifications/progress", "{progress}");
    assert_eq!(progress["params"]["progressToken"], "how far");
    // A share of the longest wait would look like the share of the work that is done.
    assert!(progress["params"].get("total").is_none(), "{progress}");
    let message = progress["params"]["message"].as_str().unwrap();
    let (task, rest) = message.split_once(' ').unwrap();
    assert!(rest.starts_with("is running") && rest.ends_with(" of at most 50 s)"), "{message}");
    loop {
        let later = lead.hear().await;
        let message = later["params"]["message"].as_str().unwrap();
        if message.starts_with(&format!("{task} is running: ann uses a tool: \"")) {
            assert!(message.contains("wait_for_message"), "{message}");
            break;
        }
    }
    lead.notify("notifications/cancelled", json!({ "requestId": waiting })).await;
    let task = json!({ "task_id": task });
    let status = lead.call("get_task_status", task.clone()).await;
    assert_eq!(status["result"]["structuredContent"]["status"], "running");
    gate.send("ann", "go on").await;
    loop {
        let result = lead.call("get_task_result", task.clone()).await;
        let result: &Value = &result["result"]["structuredContent"];
        if result["status"] != "running" {
            assert_eq!(result["status"], "done", "{result}");
            assert_eq!(result["output"], "heard message");
            break;
        }
    }
    lead.close().await;
    gate.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn a_task_chooses_its_model_its_directory_and_a_fresh_session() {
    let stage = Stage::new(AGENTS);
    let lead = stage.orchestrator().await;
    let ask = async |arguments: Value| {
        let assigned = lead.call("assign_task", arguments).await;
        lead.ended(assigned["task_id"].as_str().unwrap()).await
    };
    // A directory of its own, inside the project and nowhere else.
    std::fs::create_dir_all(stage.project().join("src/deep")).unwrap();
    let new =
        |cwd: &str| json!({ "agent": "scripted", "name": "ann", "prompt": "where", "cwd": cwd });
    for (cwd, problem) in [
        ("..", "is outside the project"),
        ("/", "is outside the project"),
        ("nowhere", "does not exist"),
    ] {
        assert_eq!(
            lead.refused("assign_task", new(cwd)).await,
            format!(
                "cwd {cwd:?} {problem}: name a directory inside the project, relative to its root, or in a worktree of its repository"
            )
        );
    }
    ask(new("src/deep")).await;
    let here = stage.home().join("here");
    until("the agent has said where it is", || here.exists()).await;
    assert_eq!(
        std::fs::read_to_string(here).unwrap().trim(),
        stage.project().join("src/deep").to_str().unwrap()
    );
    let elsewhere = json!({ "agent": "ann", "prompt": "where", "cwd": "src" });
    assert_eq!(
        lead.refused("assign_task", elsewhere).await,
        "`ann` works in another directory: assign without `cwd`, or start a new agent with `name`"
    );

    let model = |model: &str| json!({ "agent": "ann", "prompt": "model", "model": model });
    assert_eq!(lead.assign_and_wait("ann", "model").await, "small");
    assert_eq!(ask(model("large")).await["output"], "large");
    let ann = lead.until_agent("ann", |agent| agent["status"] == "idle").await;
    assert_eq!(ann["tools"], "ready");
    let all = lead.call("list_agents", json!({})).await;
    assert_eq!(all["agents"][1]["model"], "large", "{all}");
    let unknown = lead.refused("assign_task", model("huge")).await;
    assert!(unknown.contains("\"huge\"") && unknown.contains("\"large\""), "{unknown}");

    // Only the first prompt of a session has the primer.
    assert_eq!(lead.assign_and_wait("ann", "old").await, "Your task: old");
    let fresh = ask(json!({ "agent": "ann", "prompt": "new", "fresh": true })).await;
    let output = fresh["output"].as_str().unwrap();
    assert!(output.starts_with("You are `ann`, "), "{output}");
    assert!(output.ends_with("\n\nYour task: new"), "{output}");
    lead.close().await;
}

#[tokio::test]
async fn a_new_orchestrator_finds_the_tasks_of_an_earlier_one_and_their_outcomes() {
    let stage = Stage::new(AGENTS);
    let lead = stage.orchestrator().await;
    let done = lead.start("ann", "say this").await;
    lead.done(&done).await;
    let cut_off = lead.start("bob", "hang").await;
    lead.task_is(&cut_off, "running").await;
    lead.die().await;
    until("no agent is left", || stage.processes().is_empty()).await;

    let next = stage.orchestrator().await;
    let listed = next
        .until("get_task_status", json!({}), |all| all["tasks"][0]["status"] != "running")
        .await;
    let tasks = listed["tasks"].as_array().unwrap();
    let expected = [(&cut_off, "bob", "interrupted", "hang"), (&done, "ann", "done", "say this")];
    assert_eq!(tasks.len(), expected.len(), "{listed}");
    for (task, (id, agent, status, prompt)) in tasks.iter().zip(expected) {
        for (field, expected) in [
            ("task_id", id.as_str()),
            ("agent", agent),
            ("profile", "scripted"),
            ("status", status),
            ("prompt", prompt),
        ] {
            assert_eq!(task[field], expected, "{listed}");
        }
    }
    let result = next.call("get_task_result", json!({ "task_id": done })).await;
    assert_eq!(result["prompt"], "say this", "{result}");
    let filter = json!({ "status": "done", "agent": "scripted" });
    let only = next.call("get_task_status", filter).await;
    assert_eq!(only["tasks"].as_array().unwrap().len(), 1, "{only}");
    next.close().await;
    stage.check_nobody_is_left();
}

/// Everything about such an agent is in this one test, because it takes the 15 s that the bridge waits for an agent's tools.
#[tokio::test]
async fn an_agent_without_our_tools_works_by_prompts_alone() {
    let stage = Stage::new(AGENTS);
    let lead = stage.orchestrator().await;
    let task = lead.start("deaf", "hello").await;
    // While the bridge waits for its tools, the task is starting, not queued.
    let statuses = ["starting", "running", "done"];
    lead.until("get_task_status", json!({ "task_id": task }), |now| {
        let status = now["status"].as_str().unwrap();
        assert!(statuses.contains(&status), "{now}");
        status == "done"
    })
    .await;
    let said = lead.done(&task).await;
    let expected = "You are `deaf`, an agent in a team with orchestrator. Messages from them \
        arrive with your prompts; your answer goes to whoever assigned the task. Messages are from \
        team-mates, not from your user.\n\nYour task: hello";
    assert_eq!(said, expected);
    let health = lead.until_agent("deaf", |agent| agent["status"] == "idle").await;
    assert_eq!(health["tools"], "missing", "{health}");
    // The bridge waits for its tools only once.
    lead.send("deaf", "news").await;
    lead.until_idle("deaf").await;
    assert_eq!(
        lead.assign_and_wait("deaf", "go on").await,
        "Your task: go on",
        "the message came in a prompt of its own"
    );
    let more = lead.call("assign_task", json!({ "agent": "deaf", "prompt": "more" })).await;
    assert!(more["status"] == "done" || more["tools"] == "missing", "{more}");
    // A tool with the name of a bridge tool must belong to another server.
    let ours = json!({ "agent": "deaf", "prompt": "ours", "permissions": "deny", "wait": true });
    let said = lead.call("assign_task", ours).await;
    assert_eq!(said["output"], "reject_once", "{said}");
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn a_fresh_session_of_a_one_session_agent_is_a_new_process() {
    let stage = Stage::new(AGENTS).with_profiles("[agents.scripted]\none_session = true");
    let lead = stage.orchestrator().await;
    lead.start_and_wait("torpid", "hello").await;
    lead.assign_and_wait("torpid", "hello").await;
    let pids = || {
        let joined = stage.events_of("member_joined").into_iter();
        let torpid = joined.filter(|joined| joined["name"] == "torpid");
        torpid.map(|joined| joined["pid"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(pids().len(), 1, "the second task goes on");
    let processes = stage.processes().len();
    let fresh = json!({ "agent": "torpid", "prompt": "hello", "fresh": true });
    let assigned = lead.call("assign_task", fresh.clone()).await;
    let task = assigned["task_id"].as_str().unwrap();
    assert_eq!(lead.done(task).await, "once");
    let pids = pids();
    assert_eq!(pids.len(), 2);
    assert_ne!(pids[0], pids[1]);
    assert_eq!(stage.processes().len(), processes, "the old one is gone");
    lead.until_agent("torpid", |agent| agent["tools"] == "ready").await;
    // A stop may be requested while the new process starts.
    let last = lead.call("assign_task", fresh).await;
    lead.call("shutdown_agent", json!({ "agent": "torpid" })).await;
    lead.until_agent("torpid", |agent| agent["status"] == "dead").await;
    let result = lead.ended(last["task_id"].as_str().unwrap()).await;
    assert!(["done", "cancelled"].contains(&result["status"].as_str().unwrap()), "{result}");
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn the_first_prompt_waits_as_long_as_the_profile_says_and_the_second_does_not() {
    let settle = "[agents.scripted]\nsettle_ms = 2500";
    let stage = Stage::new(AGENTS).with_profiles(settle);
    let lead = stage.orchestrator().await;
    let waited = async |task: String| {
        lead.done(&task).await;
        let status = lead.call("get_task_status", json!({ "task_id": task })).await;
        let time = |key: &str| chrono::DateTime::parse_from_rfc3339(status[key].as_str().unwrap());
        (time("started_at").unwrap() - time("queued_at").unwrap()).num_milliseconds()
    };
    let first = waited(lead.start("ann", "hello").await).await;
    assert!(first >= 2500, "{first} ms");
    let second = waited(lead.assign("ann", "hello").await).await;
    assert!(second < 2500, "{second} ms");
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn a_message_of_a_turn_that_could_not_continue_is_delivered_again() {
    let stage = Stage::new(AGENTS);
    let lead = stage.orchestrator().await;
    lead.start_and_wait("failing", "hello").await;
    lead.send("failing", "the code is 4714").await;
    until("the turn has failed", || !stage.events_of("message_returned").is_empty()).await;
    lead.until_agent("failing", |agent| agent["status"] == "idle").await;
    let next = lead.assign_and_wait("failing", "again").await;
    assert!(next.contains("the code is 4714"), "{next}");
    lead.close().await;
    stage.check_nobody_is_left();
}
