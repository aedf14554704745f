//! Orchestrators as processes: one leads, another takes the lead, and after its death the first leads again. And whoever begins a team
//! sets it up.

use serde_json::{Value, json};

use crate::support::{Member, Stage, until};

/// Returns the names of the members that lead, as a member sees them.
async fn leads(member: &Member) -> Vec<String> {
    let all = member.call("list_agents", json!({})).await;
    let agents = all["agents"].as_array().unwrap().iter();
    let leading = agents.filter(|agent| agent["lead"] == true);
    leading.map(|agent| agent["name"].as_str().unwrap().to_owned()).collect()
}

/// Returns the lines of the log.
fn appends(stage: &Stage) -> Vec<Vec<Value>> {
    let files = std::fs::read_dir(stage.bus().join("log")).unwrap();
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    let texts = paths.iter().map(|path| std::fs::read_to_string(path).unwrap());
    let lines = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
    let parsed = lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
    parsed.filter_map(|line| Some(line["events"].as_array()?.clone())).collect()
}

#[tokio::test]
async fn a_preempted_lead_is_told_at_once_and_a_dead_one_is_followed_in_one_append() {
    let stage = Stage::new("");
    let first = stage.orchestrator().await;
    let peer = stage.peer("ann").await;
    assert_eq!(leads(&peer).await, ["orchestrator"]);
    let second = stage.orchestrator_with(&["--take-lead", "--take-lead"]).await;
    let told = first.hear(|message| message["signal"] == "MasterPreempted").await;
    assert_eq!(told["payload"]["preempted_by"], "orchestrator-2", "{told}");
    assert_eq!(told["priority"], "high", "{told}");
    assert_eq!(leads(&peer).await, ["orchestrator-2"]);
    assert_eq!(stage.events_of("lead_taken").len(), 2);
    let joined = |message: &Value| {
        message["signal"] == "PeerJoined" && message["payload"]["identity"] == "orchestrator-2"
    };
    peer.hear(joined).await;

    // Nobody has read that when the lead dies.
    peer.send("@lead", "take care of this").await;
    second.die().await;
    first.hear(|message| message["content"] == "take care of this").await;
    assert_eq!(leads(&peer).await, ["orchestrator"]);
    let is_death = |events: &&Vec<Value>| {
        events.iter().any(|event| event["member_left"]["departure"] == "dead")
    };
    let appends = appends(&stage);
    let deaths: Vec<_> = appends.iter().filter(is_death).collect();
    assert_eq!(deaths.len(), 1);
    let follows = |event: &Value| event.get("lead_taken").is_some();
    assert!(deaths[0].iter().any(follows), "{deaths:#?}");

    let refused = peer
        .refused("send_message", json!({ "to": "@lead", "content": "x", "signal": "peerjoined" }));
    assert!(refused.await.contains("reserved for the bus itself"));
    // The view for people says who leads.
    let shown = || {
        let view = std::fs::read_to_string(stage.bus().join("agents.json")).unwrap_or_default();
        let view: Value = serde_json::from_str(&view).unwrap_or_default();
        let agents = view["agents"].as_array().cloned().unwrap_or_default();
        agents.iter().any(|one| one["name"] == "orchestrator" && one["lead"] == true)
    };
    until("the view names the lead", shown).await;
    peer.close().await;
    first.close().await;
    stage.check_nobody_is_left();
}

fn limits(rate: u32) -> String {
    format!("[limits]\nmessages_per_minute = {rate}\nmessage_burst = 2\n")
}

#[tokio::test]
async fn who_begins_a_team_anew_sets_its_limits_also_after_a_kill() {
    let stage = Stage::new("").with_profiles(&limits(0));
    let before = stage.peer("ann").await;
    before.call("list_agents", json!({})).await;
    before.die().await;
    let stage = stage.with_profiles(&limits(6));
    let (ben, cid) = (stage.peer("ben").await, stage.peer("cid").await);
    ben.call("list_agents", json!({})).await;
    cid.call("list_agents", json!({})).await;
    for number in 0..2 {
        ben.call("send_message", json!({ "to": "cid", "content": format!("{number}") })).await;
    }
    let refused = ben.refused("send_message", json!({ "to": "cid", "content": "more" })).await;
    assert!(refused.contains("you send too fast"), "{refused}");
    for member in [ben, cid] {
        member.close().await;
    }
}
