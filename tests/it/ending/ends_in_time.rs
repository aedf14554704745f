//! The end of agents that resist it: it comes within the promised time, and leaves nothing.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::json;

use crate::ending::signals_and_shutdown::AGENTS;
use crate::support::misbehaving_agents::{
    ESCAPE, FAR, Habit, Lead, Wild, eventually, promised, signal,
};
use crate::support::{DEADLINE, Raw, Stage, of_name, until};

/// The promised time limit for `shutdown_agent`.
const GRACEFUL: Duration = Duration::from_secs(30);

/// Never becomes an agent.
const MUTE: Habit = Habit::new("mute", "trap '' TERM; while :; do sleep 1000; done; ", "");

/// Leaves a daemon, and otherwise behaves well.
const LEAVER: Habit = Habit::new("leaver", ESCAPE, "");

async fn gone(wild: &Wild, lead: &Lead, name: &str, began: Instant, limit: Duration) {
    wild.nothing_is_left().await;
    let took = began.elapsed();
    assert!(took < limit, "`{name}` took {took:?}");
    lead.says_dead(name).await;
    println!("{name}: {} ms", took.as_millis());
}

#[tokio::test]
async fn an_agent_that_never_answers_and_ignores_sigterm_is_stopped_gracefully_and_by_force() {
    let wild = Wild::of(&[MUTE]);
    let lead = wild.lead().await;
    for (name, tool, limit) in
        [("asked", "shutdown_agent", GRACEFUL), ("killed", "kill_agent", promised())]
    {
        let given = json!({ "agent": "mute", "name": name, "prompt": "hello" });
        lead.call("assign_task", given).await;
        eventually("it runs", || wild.running("sleep").len() == 1).await;
        let began = Instant::now();
        lead.call(tool, json!({ "agent": name })).await;
        gone(&wild, &lead, name, began, limit).await;
    }
    lead.close().await;
}

/// Stops the agent's process, and sends it a prompt that is longer than its pipe holds.
async fn clog(wild: &Wild, lead: &Lead, name: &str) {
    lead.start_of("leaver", name).await;
    let [agent] = wild.running("scripted-agent")[..] else {
        panic!("one agent runs");
    };
    signal(agent, Signal::SIGSTOP).unwrap();
    let much = "x".repeat(500_000);
    let given = json!({ "agent": name, "prompt": much });
    let task = lead.call("assign_task", given).await;
    let id = json!({ "task_id": task["task_id"] });
    let began = Instant::now();
    while lead.call("get_task_status", id.clone()).await["status"] != "running" {
        assert!(began.elapsed() < promised());
    }
}

#[tokio::test]
async fn an_agent_that_reads_nothing_is_killed_behind_a_full_pipe_by_several_at_once() {
    let wild = Wild::of(&[LEAVER]);
    let lead = wild.lead().await;
    clog(&wild, &lead, "clogged").await;
    let began = Instant::now();
    let (one, two) = tokio::join!(lead.kill("clogged"), lead.kill("clogged"));
    assert!(one.max(two) < promised());
    assert_eq!(wild.left(), Vec::<u32>::new(), "it is gone when the kill is confirmed");
    gone(&wild, &lead, "clogged", began, promised()).await;
    lead.close().await;
}

#[tokio::test]
async fn a_kill_overtakes_a_graceful_stop_that_waits_for_a_turn() {
    let wild = Wild::of(&[LEAVER]);
    let lead = wild.lead().await;
    clog(&wild, &lead, "both").await;
    let began = Instant::now();
    for _ in 0..2 {
        lead.call("shutdown_agent", json!({ "agent": "both" })).await;
    }
    lead.kill("both").await;
    gone(&wild, &lead, "both", began, promised()).await;
    lead.close().await;
}

#[tokio::test]
async fn the_end_of_a_bridge_waits_neither_for_a_full_pipe_nor_for_an_agent_that_sends() {
    let wild = Wild::of(&[LEAVER]);
    let mut lead = wild.lead().await;
    clog(&wild, &lead, "clogged").await;
    lead.start_talker("leaver").await;
    lead.hears_talk().await;
    let took = lead.terminate_twice(&wild, GRACEFUL).await;
    println!("the bridge: {} ms", took.as_millis());
}

#[tokio::test]
async fn a_second_signal_kills_all_agents_while_another_process_holds_the_bus() {
    let wild = Wild::new("", "ignore_term = true\nignore_eof = true");
    let mut lead = wild.lead().await;
    // One after the other, this many stop requests would take longer than the promised time.
    for name in ["one", "two", "three", "four", "five", "six"] {
        lead.start(name).await;
    }
    let bus = wild.hold_bus();
    // Two different signals both count, however late they are handled.
    signal(lead.pid(), Signal::SIGTERM).unwrap();
    signal(lead.pid(), Signal::SIGINT).unwrap();
    let took = wild.nothing_is_left().await;
    assert!(took < promised(), "{took:?}");
    println!("its agents: {} ms", took.as_millis());
    drop(bus);
    let exit = tokio::time::timeout(FAR, lead.orchestrator.wait()).await.unwrap().unwrap();
    assert!(exit.success(), "{exit}");
}

/// Once its agent has crashed, it closes its stdout, writes a file, and lives on.
const HUSK: Habit = Habit::new(
    "husk",
    "trap '' TERM; $AGENT; exec >&-; echo $$ > \"$HIDEOUT/$$\"; while :; do sleep 1000; done; ",
    "",
);

#[tokio::test]
async fn a_second_signal_kills_an_agent_that_has_just_closed_its_stdout() {
    let wild = Wild::of(&[HUSK]);
    let mut lead = wild.lead().await;
    lead.start_of("husk", "husk").await;
    lead.call("assign_task", json!({ "agent": "husk", "prompt": "crash now" })).await;
    eventually("its stdout is closed", || wild.escaped() == 1).await;
    signal(lead.pid(), Signal::SIGTERM).unwrap();
    signal(lead.pid(), Signal::SIGINT).unwrap();
    let exit = tokio::time::timeout(FAR, lead.orchestrator.wait()).await.unwrap().unwrap();
    assert!(exit.success(), "{exit}");
    wild.nothing_is_left().await;
}

#[tokio::test]
async fn a_second_signal_waits_for_no_answer_that_the_client_does_not_read() {
    let stage = Stage::new(AGENTS);
    let (child, pipes) = stage.start(&["orchestrator"]).await;
    let mut raw = Raw::open((child.clone(), pipes)).await;
    let given = json!({ "agent": "scripted", "name": "stubborn", "prompt": "go" });
    raw.call("assign_task", given).await;
    until("the agent is in its turn", || !stage.events_of("task_started").is_empty()).await;
    raw.flood().await;
    signal(child.pid(), Signal::SIGTERM).unwrap();
    signal(child.pid(), Signal::SIGINT).unwrap();
    let exit = tokio::time::timeout(DEADLINE, child.exited()).await.unwrap();
    let said = child.stderr_tail();
    assert_eq!(exit.code, Some(0), "{said}");
    assert!(!said.contains("the client stopped reading"), "{said}");
    assert!(said.contains(": killing all agents"), "{said}");
    // On a busy machine the time for the last records may be over; then the next session finds the agent dead.
    if said.contains("other bridges will find them dead") || said.contains("could not be stopped") {
        let next = stage.orchestrator().await;
        next.until("list_agents", json!({}), |list| of_name(list, "stubborn").is_none()).await;
        next.close().await;
    }
    stage.check_nobody_is_left();
}

/// The exit code of a command that a third signal has ended: a shell's code for a death by that signal.
const ENDED_BY_SIGHUP: i32 = 128 + Signal::SIGHUP as i32;

#[tokio::test]
async fn a_third_signal_ends_an_orchestrator_at_once_and_nothing_is_left() {
    let wild = Wild::new(ESCAPE, "ignore_term = true\nignore_eof = true");
    let mut lead = wild.lead().await;
    for name in ["one", "two"] {
        lead.start(name).await;
    }
    eventually("the daemons are there", || wild.escaped() == 2).await;
    signal(lead.pid(), Signal::SIGTERM).unwrap();
    eventually("it is ending", || wild.has_stop_request()).await;
    // Two different signals both count, however late they are handled.
    signal(lead.pid(), Signal::SIGINT).unwrap();
    signal(lead.pid(), Signal::SIGHUP).unwrap();
    let began = Instant::now();
    let exit = tokio::time::timeout(FAR, lead.orchestrator.wait()).await.unwrap().unwrap();
    assert_eq!(exit.code(), Some(ENDED_BY_SIGHUP), "{exit}");
    println!("the bridge: {} ms", began.elapsed().as_millis());
    let took = wild.nothing_is_left().await;
    assert!(took < promised(), "{took:?}");
    println!("its agents: {} ms", took.as_millis());

    let next = wild.lead().await;
    for name in ["one", "two"] {
        next.says_dead(name).await;
    }
    next.close().await;
}

#[tokio::test]
async fn a_third_signal_ends_a_run_at_once_and_its_workflow_can_be_resumed() {
    let stage = Stage::new(AGENTS);
    let plan = stage.project().join("plan.toml");
    let script = stage.home().join("script.toml");
    let step = "name = \"p\"\n[[steps]]\nname = \"s\"\nagent = \"stubborn\"\nprompt = \"go\"\n";
    std::fs::write(&plan, step).unwrap();
    let arguments = ["run", plan.to_str().unwrap(), "--scripted", script.to_str().unwrap()];
    let (child, _pipes) = stage.start(&arguments).await;
    until("the agent is in its turn", || !stage.events_of("task_started").is_empty()).await;
    signal(child.pid(), Signal::SIGTERM).unwrap();
    until("the agent is asked to end", || !stage.events_of("stop_asked").is_empty()).await;
    signal(child.pid(), Signal::SIGINT).unwrap();
    signal(child.pid(), Signal::SIGHUP).unwrap();
    let exit = tokio::time::timeout(DEADLINE, child.exited()).await.unwrap();
    assert_eq!(exit.code, Some(ENDED_BY_SIGHUP), "{}", child.stderr_tail());
    until("nothing is left", || stage.processes().is_empty()).await;

    let lead = stage.orchestrator().await;
    let id = stage.events_of("workflow_created")[0]["id"].clone();
    let is_interrupted = |workflow: &serde_json::Value| workflow["status"] == "interrupted";
    lead.until("get_workflow_status", json!({ "workflow_id": id }), is_interrupted).await;
    lead.close().await;
}
