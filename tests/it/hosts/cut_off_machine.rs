//! A machine that the network cuts off from its team: its agents are held, and go on or end.

use std::time::{Duration, Instant};

use serde_json::json;

use super::two_machines::command;
use crate::support::server_link::Link;
use crate::support::{DEADLINE, PAUSE, Stage, postgres_server};

/// The agent works on beside its turn, in a process of its own session, as a program does that it has started.
const SCRIPT: &str = r#"
[[agents.default.turns]]
steps = [
  { fork = "setsid sh -c 'while :; do echo >> $HOME/ticks; sleep 0.05; done'" },
  { hang = true },
]
"#;

/// Long enough for the process to show whether it goes on.
const A_WHILE: Duration = Duration::from_millis(700);

/// Later than an append waits for its acknowledgement.
const LATE: Duration = Duration::from_secs(5);

struct Ticks<'a>(&'a Stage);

impl Ticks<'_> {
    fn now(&self) -> u64 {
        std::fs::metadata(self.0.home().join("ticks")).map_or(0, |file| file.len())
    }

    /// Waits until they stand still, or go on.
    async fn until(&self, goes_on: bool) {
        let begun = Instant::now();
        loop {
            let before = self.now();
            tokio::time::sleep(A_WHILE).await;
            if (self.now() > before) == goes_on {
                return;
            }
            assert!(begun.elapsed() < DEADLINE, "it never came true that it goes on: {goes_on}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_of_a_machine_that_is_cut_off_are_held_until_it_is_back_or_found_dead() {
    let Some(server) = tokio::task::block_in_place(postgres_server::TestServer::start) else {
        println!("skipped: no PostgreSQL is installed");
        return;
    };
    let (here, there) =
        (Stage::new(SCRIPT), Stage::new(SCRIPT).with_scripted_profiles(&["scripted"]));
    let link = Link::to(server.directory());
    for (stage, address) in [(&here, server.address()), (&there, link.address())] {
        let made = command(stage, &["bus", "init", &address, "--team", "cut"]);
        assert!(made.contains("The team \"cut\" is on "), "{made}");
    }
    let lead = here.orchestrator().await;
    let far = there.orchestrator_with(&["--name", "far"]).await;
    let ticks = Ticks(&there);
    far.start("worker", "tick").await;
    ticks.until(true).await;

    link.cut();
    ticks.until(false).await;
    link.heal();
    ticks.until(true).await;
    let list = lead.call("list_agents", json!({})).await.to_string();
    assert!(
        list.contains("\"worker\"") && list.contains("\"far\""),
        "nobody was found dead: {list}"
    );

    link.cut();
    ticks.until(false).await;
    let held_at = ticks.now();
    let begun = Instant::now();
    while lead.call("list_agents", json!({})).await.to_string().contains("\"far\"") {
        assert!(begun.elapsed() < DEADLINE, "the machine is found dead");
        tokio::time::sleep(PAUSE * 10).await;
    }
    assert_eq!(ticks.now(), held_at, "nothing runs that others may do again");
    link.heal();
    // Its session is back by itself, its client learns of that once, and its agents are gone.
    while !lead.call("list_agents", json!({})).await.to_string().contains("\"far\"") {
        assert!(begun.elapsed() < DEADLINE, "the machine is back");
        tokio::time::sleep(PAUSE * 10).await;
    }
    let told = far.refused("list_agents", json!({})).await;
    assert!(told.contains("has found it dead") && told.contains("in the team again"), "{told}");
    let list = far.call("list_agents", json!({})).await;
    assert!(!list.to_string().contains("\"worker\""), "{list}");
    assert_eq!(ticks.now(), held_at, "nothing ran once more before its end");
    far.call("send_message", json!({ "to": "orchestrator", "content": "here again" })).await;
    let heard = lead.call("wait_for_message", json!({ "timeout_seconds": 60 })).await;
    assert!(heard.to_string().contains("here again"), "{heard}");
    far.start("worker", "tick").await;
    ticks.until(true).await;
    far.close().await;
    lead.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_model_repeats_because_the_acknowledgement_was_lost_happens_once() {
    let Some(server) = tokio::task::block_in_place(postgres_server::TestServer::start) else {
        println!("skipped: no PostgreSQL is installed");
        return;
    };
    let here = Stage::new("");
    let there = Stage::new(SCRIPT).with_scripted_profiles(&["scripted"]);
    let link = Link::to(server.directory());
    for (stage, address) in [(&here, server.address()), (&there, link.address())] {
        command(stage, &["bus", "init", &address, "--team", "once"]);
    }
    let (ann, ben) = (here.peer("ann").await, there.peer("ben").await);
    let words = json!({ "to": "ann", "content": "exactly once" });
    let first = json!({ "to": "ann", "content": "the connection is open" });
    ben.call("send_message", first).await;
    link.lose_answers();
    let unknown = ben.refused("send_message", words.clone()).await;
    assert!(unknown.contains("it is unknown whether this took effect"), "{unknown}");
    // A repetition that is certainly not done leaves the first as it is.
    link.refuse();
    for _ in 0..2 {
        let away = ben.refused("send_message", words.clone()).await;
        assert!(away.contains("cannot be reached"), "{away}");
    }
    link.heal();
    ben.call("send_message", words.clone()).await;
    ben.call("send_message", json!({ "to": "ann", "content": "the end" })).await;
    let mut heard = String::new();
    while !heard.contains("the end") {
        heard += &ann.call("wait_for_message", json!({ "timeout_seconds": 60 })).await.to_string();
    }
    assert_eq!(heard.matches("exactly once").count(), 1, "{heard}");
    // An agent whose start the server acknowledges late is started; on a busy machine, the start may not have begun by then.
    let far = there.orchestrator_with(&["--name", "far"]).await;
    link.lose_answers();
    let healing = async {
        tokio::time::sleep(LATE).await;
        link.heal();
    };
    let new = json!({ "agent": "scripted", "name": "worker", "prompt": "tick" });
    tokio::join!(far.call_until_reached("assign_task", new), healing);
    Ticks(&there).until(true).await;
    far.close().await;
    ann.close().await;
    ben.close().await;
}
