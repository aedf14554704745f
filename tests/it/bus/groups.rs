//! Messages to groups between real processes: whom they reach, and whom they wake.

use serde_json::json;

use crate::support::{Member, Stage};

/// Agents that send every prompt that wakes them to the orchestrator.
const ECHO_WAKES: &str = r#"
[[agents.default.turns]]
when = "Your task: "
steps = [{ say = "done" }]
[[agents.default.turns]]
steps = [{ call = "send_message", with = { to = "orchestrator", content = "{{prompt}}" } }]
"#;

/// A profile whose agents are reviewers.
const PROFILE: &str = "[agents.critic]\ncommand = \"$self\"\nargs = [\"scripted-agent\"]\n\
     env_pass = [\"BRIDGE_SCRIPT\"]\nroles = [\"reviewer\"]\n";

async fn peer(stage: &Stage, flags: &[&str]) -> Member {
    let flags: Vec<_> = ["peer"].iter().chain(flags).copied().collect();
    let (child, pipes) = stage.start(&flags).await;
    let peer = Member::connect(child, pipes).await;
    peer.call("list_agents", json!({})).await;
    peer
}

#[tokio::test]
async fn a_message_to_a_role_is_read_with_the_next_turn_and_one_of_an_orchestrator_wakes() {
    let stage = Stage::new(ECHO_WAKES).with_profiles(PROFILE);
    let lead = stage.orchestrator().await;
    let assigned = lead.call("assign_task", json!({ "agent": "critic", "prompt": "x" })).await;
    lead.done(assigned["task_id"].as_str().unwrap()).await;
    lead.until_idle("critic").await;
    let ann = peer(&stage, &["--name", "ann", "--role", "Reviewers"]).await;
    let bob = peer(&stage, &["--name", "bob"]).await;

    let sent = bob.send("@reviewer", "a quiet word").await;
    let names: Vec<_> =
        sent["recipients"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["critic", "ann"], "{sent}");
    assert_eq!(ann.hear_from("bob").await, "a quiet word");
    // If that had woken the agent, its prompt would come alone and first.
    bob.send("critic", "wake up").await;
    let prompt = lead.hear_from("critic").await;
    for line in ["[bob → @reviewer] a quiet word", "[bob → you] wake up"] {
        assert!(prompt.contains(line), "{prompt}");
    }
    lead.until_idle("critic").await;
    lead.send("@reviewers", "from the one who leads").await;
    let prompt = lead.hear_from("critic").await;
    assert!(prompt.contains("[orchestrator → @reviewers] from the one who leads"), "{prompt}");
    for member in [ann, bob, lead] {
        member.close().await;
    }
}

#[tokio::test]
async fn a_topic_is_read_by_those_who_follow_it_and_shown_in_the_log() {
    let stage = Stage::new("");
    let ann = peer(&stage, &["--name", "ann", "--topic", "releases"]).await;
    let bob = peer(&stage, &["--name", "bob"]).await;
    let eve = peer(&stage, &["--name", "eve"]).await;
    bob.send("#releases", "version 2 is out").await;
    let read = ann.call("check_messages", json!({ "to": "#releases" })).await;
    assert_eq!(read["messages"][0]["content"], "version 2 is out", "{read}");
    let nothing = eve.call("check_messages", json!({ "to": "#releases" })).await;
    assert_eq!(nothing["messages"], json!([]));
    let sent = ann.send("#releases", "I try it").await;
    assert_eq!(sent["recipients"].as_array().unwrap().len(), 2, "{sent}");
    let project = stage.project().to_str().unwrap();
    let (exit, log) = stage.ended(&["log", "--project", project], None).await;
    assert_eq!(exit.code, Some(0), "{log}");
    for line in ["bob → #releases", "eve follows #releases"] {
        assert!(log.contains(line), "{log}");
    }
    for member in [ann, bob, eve] {
        member.close().await;
    }
}
