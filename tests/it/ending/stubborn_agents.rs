//! The end of agents that do all they can against it: it comes within what is promised, and leaves nothing.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::json;

use crate::support::misbehaving_agents::{ESCAPE, Habit, Lead, PROMISED, Wild, eventually, signal};

/// What is promised for `shutdown_agent`.
const IN_ORDER: Duration = Duration::from_secs(30);

/// Becomes no agent at all.
const MUTE: Habit = Habit::new("mute", "trap '' TERM; while :; do sleep 1000; done; ", "");

/// Leaves a daemon, and keeps its manners otherwise.
const LEAVER: Habit = Habit::new("leaver", ESCAPE, "");

async fn gone(wild: &Wild, lead: &Lead, name: &str, began: Instant, limit: Duration) {
    wild.nothing_is_left().await;
    let took = began.elapsed();
    assert!(took < limit, "`{name}` took {took:?}");
    lead.says_dead(name).await;
    println!("{name}: {} ms", took.as_millis());
}

#[tokio::test]
async fn an_agent_that_never_answers_and_ignores_sigterm_is_stopped_in_good_order_and_by_force() {
    let wild = Wild::of(&[MUTE]);
    let lead = wild.lead().await;
    for (name, tool, limit) in
        [("asked", "shutdown_agent", IN_ORDER), ("killed", "kill_agent", PROMISED)]
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

/// Stops the agent's process, and gives it more than its pipe holds.
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
        assert!(began.elapsed() < PROMISED);
    }
}

#[tokio::test]
async fn an_agent_that_reads_nothing_is_killed_behind_a_full_pipe_by_several_at_once() {
    let wild = Wild::of(&[LEAVER]);
    let lead = wild.lead().await;
    clog(&wild, &lead, "clogged").await;
    let began = Instant::now();
    let (one, two) = tokio::join!(lead.kill("clogged"), lead.kill("clogged"));
    assert!(one.max(two) < PROMISED);
    assert_eq!(wild.left(), Vec::<u32>::new(), "it is gone when that is told");
    gone(&wild, &lead, "clogged", began, PROMISED).await;
    lead.close().await;
}

#[tokio::test]
async fn a_kill_overtakes_a_stop_in_good_order_that_waits_for_a_turn() {
    let wild = Wild::of(&[LEAVER]);
    let lead = wild.lead().await;
    clog(&wild, &lead, "both").await;
    let began = Instant::now();
    for _ in 0..2 {
        lead.call("shutdown_agent", json!({ "agent": "both" })).await;
    }
    lead.kill("both").await;
    gone(&wild, &lead, "both", began, PROMISED).await;
    lead.close().await;
}

#[tokio::test]
async fn the_end_of_a_bridge_waits_neither_for_a_full_pipe_nor_for_an_agent_that_sends() {
    let wild = Wild::of(&[LEAVER]);
    let mut lead = wild.lead().await;
    clog(&wild, &lead, "clogged").await;
    let talks = json!({ "agent": "leaver", "name": "talker", "prompt": "talk on" });
    lead.call("assign_task", talks).await;
    lead.hears_talk().await;
    let began = Instant::now();
    for _ in 0..2 {
        signal(lead.pid(), Signal::SIGTERM).unwrap();
        // The second one only counts once the first has been taken in; a third does no harm.
        eventually("it is ending", || wild.is_told_to_stop()).await;
    }
    let exit = tokio::time::timeout(IN_ORDER, lead.orchestrator.wait()).await;
    assert!(exit.unwrap().unwrap().success());
    wild.nothing_is_left().await;
    let took = began.elapsed();
    assert!(took < PROMISED, "{took:?}");
    assert_eq!(wild.presences().len(), 0);
    println!("the bridge: {} ms", took.as_millis());
}
