//! Machines whose clocks are set an hour wrong: their team has one time, the server's.

use cli_team_bridge::sys::clock;
use serde_json::json;

use super::two_machines::command;
use crate::support::wrong_clock::WrongClock;
use crate::support::{Stage, postgres_server, until};

const HOUR: i64 = 3_600;

fn stage_with(clock: &WrongClock) -> Stage {
    let (name, library) = clock.variable();
    Stage::new("").with_variable(name, library)
}

/// Returns when events of a kind were written, by the log.
fn times_of(stage: &Stage, kind: &str) -> Vec<i64> {
    let lines = stage.log_lines().into_iter();
    let has_kind = |line: &serde_json::Value| {
        line["events"].as_array().into_iter().flatten().any(|event| event.get(kind).is_some())
    };
    lines.filter(has_kind).map(|line| line["ts"].as_i64().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deadlines_pass_by_the_time_of_the_server_although_the_clocks_of_both_machines_are_wrong() {
    let server = tokio::task::block_in_place(postgres_server::shared);
    let (Some(server), Some(fast), Some(slow)) =
        (server, WrongClock::set(HOUR), WrongClock::set(-HOUR))
    else {
        println!("skipped: no PostgreSQL is installed, or no clock can be set wrongly");
        return;
    };
    // Without a server the time is that of the machine, so the clock is as wrong as it says.
    let alone = stage_with(&fast);
    let carl = alone.peer("carl").await;
    carl.names().await;
    carl.close().await;
    let ahead_ms = alone.log_lines()[0]["ts"].as_i64().unwrap() - clock::now().wall_ms;
    assert!((ahead_ms / 1_000 - HOUR).abs() < 600, "{ahead_ms}");

    let (here, there) = (stage_with(&fast), stage_with(&slow));
    for stage in [&here, &there] {
        command(stage, &["bus", "init", &server, "--team", "clocks"]);
    }
    let begun_ms = clock::now().wall_ms;
    let (ann, ben) = (here.peer("ann").await, there.peer("ben").await);
    let leased =
        json!({ "description": "Watch the queue.", "lease_seconds": 12, "ttl_seconds": 86_400 });
    let leased = ann.call("request_task", leased).await["request_id"].clone();
    let open =
        json!({ "description": "Check the parser.", "timeout_seconds": 5, "ttl_seconds": 9 });
    ann.call("request_task", open).await;
    until("ben's machine knows the request", || !times_of(&there, "request_opened").is_empty())
        .await;
    let claim = json!({ "request_id": leased });
    assert_eq!(ben.call("claim_request", claim).await["claimed"], true);

    for (begins, after_s, ends) in [
        // The owner is reminded after two thirds of its lease.
        ("request_claimed", 8, "request_reminded"),
        ("request_reminded", 4, "request_reopened"),
        ("request_opened", 5, "request_nudged"),
        ("request_opened", 9, "request_expired"),
    ] {
        for stage in [&here, &there] {
            until(ends, || !times_of(stage, ends).is_empty()).await;
        }
        let due = times_of(&here, begins).last().unwrap() + after_s * 1_000;
        let ended = times_of(&here, ends)[0];
        assert!(ended >= due, "{ends} came {} ms early", due - ended);
    }
    // No line has the time of a machine.
    let now_ms = clock::now().wall_ms;
    for line in here.log_lines() {
        let told = line["ts"].as_i64().unwrap();
        assert!((begun_ms - 1_000..=now_ms + 1_000).contains(&told), "{line}");
    }
    ann.close().await;
    ben.close().await;
}
