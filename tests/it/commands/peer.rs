//! `peer`: what it says of itself, and where its name comes from.

use serde_json::json;

use crate::support::{Member, Stage, of_name};

/// A pool of names, in the user's own file.
const POOL: &str = "[names]\npool = ['Ada', 'Grace']\n";

#[tokio::test]
async fn a_peer_shows_the_team_what_it_can_do_and_is_reached_by_its_id() {
    let stage = Stage::new("");
    let lead = stage.orchestrator().await;
    let flags = "peer --name ann --role writer --capability rust --capability review --lane storage \
        --topic releases --surface claude-code";
    let flags: Vec<_> = flags.split_whitespace().collect();
    let (child, pipes) = stage.start(&flags).await;
    let ann = Member::connect(child, pipes).await;
    ann.call("list_agents", json!({})).await;

    let listed = lead.call("list_agents", json!({})).await;
    let shown = of_name(&listed, "ann").unwrap().clone();
    let id = shown["id"].as_str().unwrap().to_owned();
    for (field, expected) in [
        ("roles", json!(["writer"])),
        ("capabilities", json!(["rust", "review"])),
        ("lane", json!("storage")),
        ("topics", json!(["releases"])),
        ("surface", json!("claude-code")),
    ] {
        assert_eq!(shown[field], expected, "{shown}");
    }
    assert!(shown["cwd"].is_string(), "{shown}");
    lead.send(&id, "by your id").await;
    assert_eq!(ann.hear_from("orchestrator").await, "by your id");
    let refused = lead.refused("kill_agent", json!({ "agent": id })).await;
    assert!(refused.starts_with("`ann` is not an agent"), "{refused}");

    ann.close().await;
    let refused = lead.refused("send_message", json!({ "to": id, "content": "gone" })).await;
    let expected =
        format!("there is no session `{id}` here any more: it was one of `ann`, whose name lasts");
    assert_eq!(refused, expected);
    lead.close().await;
}

#[tokio::test]
async fn a_peer_without_a_name_takes_a_word_of_the_pool() {
    let stage = Stage::new("").with_profiles(POOL);
    let mut peers = Vec::new();
    for expected in ["Ada", "Grace"] {
        let (child, pipes) = stage.start(&["peer"]).await;
        let peer = Member::connect(child, pipes).await;
        let listed = peer.call("list_agents", json!({})).await;
        let agents = listed["agents"].as_array().unwrap();
        let own = agents.iter().find(|agent| agent["you"] == true).unwrap();
        assert_eq!(own["name"], expected, "{listed}");
        peers.push(peer);
    }
    for peer in peers {
        peer.close().await;
    }
}

#[tokio::test]
async fn a_peer_without_a_name_and_a_pool_is_told_what_to_do() {
    let stage = Stage::new("");
    let project = stage.project().to_str().unwrap();
    let (exit, stderr) = stage.ended(&["peer", "--project", project], None).await;
    assert_eq!(exit.code, Some(1), "{stderr}");
    assert!(stderr.starts_with("error: this session has no name\nhint: "), "{stderr}");
    assert!(stderr.contains("--name") && stderr.contains("`pool` under [names]"), "{stderr}");
}
