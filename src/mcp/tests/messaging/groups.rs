//! Writing to groups, reading what came by their address, and requests that only some may claim.

use serde_json::{Value, json};

use crate::bus::rules::{Description, NameChoice};
use crate::bus::{Joining, Membership};
use crate::domain::member::{Label, MemberKind, Traits};
use crate::domain::name::Name;
use crate::mcp::LazyMembership;
use crate::mcp::tests::fixture::{Client, Team, shape};
use crate::mcp::tools::endpoint_tools;

/// Joins as a peer with this role that follows these topics.
async fn with_role(team: &Team, name: &str, role: &str, topics: &[&str]) -> Client {
    let topics = topics.iter().map(|topic| Label::parse(topic).unwrap()).collect();
    let joining = Joining {
        choice: NameChoice::Chosen(Name::parse(name).unwrap()),
        kind: MemberKind::Peer,
        roles: vec![role.to_owned()],
        description: Description {
            traits: Traits { topics, ..Traits::default() },
            ..Description::default()
        },
    };
    let membership = Membership::join(&team.bus(), joining).await.unwrap();
    let mut client = Client::of(endpoint_tools::server(LazyMembership::taken(membership)));
    client.initialize().await;
    client
}

fn contents(result: &Value) -> Vec<&str> {
    let messages = result["messages"].as_array().unwrap().iter();
    messages.map(|message| message["content"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_message_to_a_role_reaches_all_that_have_it_and_shows_its_address() {
    let team = Team::new();
    let mut ann = team.member("ann").await;
    let mut bob = with_role(&team, "bob", "reviewer", &[]).await;
    let _eve = with_role(&team, "eve", "Reviewers", &[]).await;
    let sent = ann.call("send_message", json!({ "to": "@reviewer", "content": "who?" })).await;
    let expected = json!({
        "message_id": "a message",
        "delivered": true,
        "recipients": [
            { "name": "bob", "id": "s2", "state": "live" },
            { "name": "eve", "id": "s3", "state": "live" },
        ],
        "queued": 0,
    });
    assert_eq!(shape(&sent), expected);
    let read = bob.call("check_messages", json!({})).await;
    assert_eq!(read["messages"][0]["to"], "@reviewer");
    assert_eq!(read["messages"][0]["type"], "message");
    let own = ann.call("check_messages", json!({ "id": sent["message_id"] })).await;
    assert_eq!(own["receipts"].as_array().unwrap().len(), 2, "{own}");
    let refused = ann.refused("send_message", json!({ "to": "@reviwer", "content": "x" })).await;
    let expected = "`@reviwer` reaches nobody: no other live member has that lane, role or \
         capability. Did you mean `@reviewer`, `@reviewers`? There are roles `@reviewer`, `@reviewers`";
    assert_eq!(refused, expected);
}

#[tokio::test]
async fn what_came_by_an_address_is_read_by_it_and_reading_a_topic_follows_it() {
    let team = Team::new();
    let mut ann = team.member("ann").await;
    let mut bob = with_role(&team, "bob", "reviewer", &["releases"]).await;
    for (to, content) in [("bob", "1"), ("@reviewers", "2"), ("#releases", "3"), ("all", "4")] {
        ann.call("send_message", json!({ "to": to, "content": content })).await;
    }
    let by_role = bob.call("check_messages", json!({ "to": "@Reviewer" })).await;
    assert_eq!(contents(&by_role), ["2"]);
    let by_topic = bob.call("check_messages", json!({ "to": "#releases", "cursor": "0" })).await;
    assert_eq!(contents(&by_topic), ["3"], "the history shows it, and it stays unread");
    assert_eq!(contents(&bob.call("check_messages", json!({ "to": "#releases" })).await), ["3"]);
    assert_eq!(contents(&bob.call("check_messages", json!({})).await), ["1", "4"]);

    let mut eve = team.member("eve").await;
    let nothing = eve.call("check_messages", json!({ "to": "#releases" })).await;
    assert_eq!(nothing, json!({ "messages": [] }));
    let sent = ann.call("send_message", json!({ "to": "#releases", "content": "5" })).await;
    let names: Vec<_> =
        sent["recipients"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["bob", "eve"]);
    let listed = eve.call("list_agents", json!({})).await;
    assert_eq!(listed["agents"][0]["topics"], json!(["releases"]), "whoever writes follows, too");
    let refused = eve.refused("check_messages", json!({ "to": "ann" })).await;
    assert!(refused.contains("for a sender, use agent_id"), "{refused}");
    let refused = eve.refused("check_messages", json!({ "to": "#a b" })).await;
    assert!(refused.contains("is not an address"), "{refused}");
}

#[tokio::test]
async fn a_request_for_a_role_is_seen_and_claimed_by_it_alone() {
    let team = Team::new();
    let mut ann = team.member("ann").await;
    let mut bob = with_role(&team, "bob", "reviewer", &[]).await;
    let mut eve = team.member("eve").await;
    let asked = json!({ "description": "read it", "to": "@reviewer" });
    let request = ann.call("request_task", asked).await["request_id"].clone();
    assert_eq!(eve.call("check_messages", json!({})).await, json!({ "messages": [] }));
    let seen = bob.call("check_messages", json!({ "to": "@reviewer" })).await;
    assert_eq!(seen["messages"][0]["request_id"], request);
    let refused = eve.refused("claim_request", json!({ "request_id": request })).await;
    let id = request.as_str().unwrap();
    assert_eq!(refused, format!("the request `{id}` is for `@reviewer` alone: `bob` may claim it"));
    let claimed = bob.call("claim_request", json!({ "request_id": request })).await;
    assert_eq!(claimed["claimed"], true);
    let nobody = json!({ "description": "read it", "to": "@tester" });
    let refused = ann.refused("request_task", nobody).await;
    assert!(refused.starts_with("`@tester` reaches nobody"), "{refused}");
}

#[tokio::test]
async fn a_topic_is_left_and_a_claimed_request_is_given_back() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    bob.call("check_messages", json!({ "to": "#news" })).await;
    ann.call("send_message", json!({ "to": "#news", "content": "1" })).await;
    let release = |id: &Value| json!({ "id": id, "action": "release" });
    let left = bob.call("update_claim", release(&json!("#News"))).await;
    assert_eq!((&left["id"], &left["status"]), (&json!("#News"), &json!("left")));
    let refused = ann.refused("send_message", json!({ "to": "#news", "content": "2" })).await;
    assert!(refused.starts_with("`#news` reaches nobody"), "{refused}");
    let refused = bob.refused("update_claim", release(&json!("#news"))).await;
    assert_eq!(refused, "you do not follow `#news`");
    let refused = bob.refused("update_claim", release(&json!("@role"))).await;
    assert_eq!(refused, "you do not own the lane `@role`");

    let request = ann.call("request_task", json!({ "description": "x" })).await;
    let id = &request["request_id"];
    bob.call("claim_request", json!({ "request_id": id })).await;
    let given = bob.call("update_claim", release(id)).await;
    assert_eq!(given["status"], "open", "{given}");
    let again = bob.call("claim_request", json!({ "request_id": id })).await;
    assert_eq!(again["claimed"], true, "{again}");
}

#[tokio::test]
async fn a_lane_is_claimed_shown_and_released() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let claim = json!({ "lane": "storage" });
    let won = json!({ "claimed": true, "lane": "@storage" });
    assert_eq!(ann.call("claim_request", claim.clone()).await, won);
    let lost = bob.call("claim_request", claim.clone()).await;
    assert_eq!(lost["claimed"], false, "{lost}");
    let reason = "ann owns the lane `@storage`: write to `@storage`, or ask ann to release it";
    assert_eq!(lost["reason"], reason);
    let listed = bob.call("list_agents", json!({})).await;
    assert_eq!(listed["agents"][0]["holds"], json!(["@storage"]), "{listed}");
    let sent = bob.call("send_message", json!({ "to": "@storage", "content": "x" })).await;
    assert_eq!(sent["recipients"][0]["name"], "ann", "{sent}");
    let release = json!({ "id": "@storage", "action": "release" });
    let refused = bob.refused("update_claim", release.clone()).await;
    assert_eq!(refused, "you do not own the lane `@storage`: ann does");
    let released = ann.call("update_claim", release).await;
    assert_eq!(released["status"], "released", "{released}");
    assert_eq!(bob.call("claim_request", claim).await, won);
    for both in [json!({}), json!({ "lane": "x", "request_id": "req-aaaaaaaaaaab" })] {
        let refused = bob.refused("claim_request", both).await;
        assert_eq!(refused, "give either `request_id` or `lane`");
    }
    let refused = bob.refused("claim_request", json!({ "lane": "two words" })).await;
    assert!(refused.starts_with("`lane` of `claim_request`: "), "{refused}");
}

#[tokio::test]
async fn a_message_to_a_group_that_nobody_is_in_waits_for_the_first_who_is() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let fields = json!({ "to": "@storage", "content": "x", "more": { "queue": true } });
    let sent = ann.call("send_message", fields).await;
    let expected = json!({
        "message_id": sent["message_id"], "delivered": false, "recipients": [], "queued": 1
    });
    assert_eq!(sent, expected);
    bob.call("claim_request", json!({ "lane": "storage" })).await;
    let heard = bob.call("wait_for_message", json!({ "timeout_seconds": 60 })).await;
    assert_eq!(heard["message"]["id"], sent["message_id"], "{heard}");
}

#[tokio::test]
async fn the_first_reader_of_a_topic_reads_at_once_what_waits_under_it() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let fields = json!({ "to": "#news", "content": "x", "more": { "queue": true } });
    ann.call("send_message", fields).await;
    assert_eq!(contents(&bob.call("check_messages", json!({ "to": "#news" })).await), ["x"]);
}
