//! The identity of an endpoint: that of an agent if its token is right, otherwise none.

use serde_json::json;

use super::fixture::{Client, PATIENCE, Team};
use crate::bus::api::membership::token_hash;
use crate::bus::event::Starting;
use crate::bus::rules::{NameChoice, NewAgent, Operation};
use crate::bus::{Bus, Membership};
use crate::domain::ids::SessionId;
use crate::domain::member::Tools;
use crate::domain::name::Name;
use crate::mcp::tools::endpoint_tools::{self, AgentIdentity};
use crate::mcp::{LazyMembership, ToolError};
use crate::sys::random_ids;

/// Starts an agent `codex` with the token `secret`, on the bus alone.
async fn start(bridge: &Membership) -> SessionId {
    let session = random_ids::session();
    bridge.bus().hold(session).unwrap();
    let name = Name::parse("codex").unwrap();
    let starting = Starting {
        session,
        name: name.clone(),
        chosen: false,
        profile: "codex".into(),
        model: None,
        cwd: "/project".into(),
        roles: Vec::new(),
        owner: bridge.session(),
        token_hash: token_hash("secret"),
    };
    let new = NewAgent::new(NameChoice::Like(name), starting);
    bridge.ask(Operation::Start(Box::new(new), None)).await.unwrap();
    session
}

fn membership(bus: &Bus, member: &str, session: SessionId, token: &str) -> LazyMembership {
    let identity = AgentIdentity {
        result_bytes: None,
        directory: "/project/.claude/bridge".into(),
        member: Name::parse(member).unwrap(),
        session,
        token: token.into(),
    };
    let bus = bus.clone();
    LazyMembership::new(move || {
        let membership = identity.membership(&bus).map_err(ToolError::from);
        std::future::ready(membership)
    })
}

#[tokio::test]
async fn an_endpoint_acts_for_its_agent_and_reports_that_the_tools_are_ready() {
    let team = Team::new();
    let bridge = team.membership("boss").await;
    let session = start(&bridge).await;
    let mut client =
        Client::of(endpoint_tools::server(membership(&team.bus(), "codex", session, "secret")));
    client.initialize().await;
    let mut changes = bridge.bus().changes();
    client.request("tools/list", json!({})).await;
    let proven = async {
        loop {
            bridge.bus().refresh().unwrap();
            let tools = bridge.bus().look(|state| state.session(session).unwrap().tools);
            if tools == Tools::Ready {
                return;
            }
            changes.changed().await.unwrap();
        }
    };
    tokio::time::timeout(PATIENCE, proven).await.unwrap();

    let mut listed = client.call("list_agents", json!({})).await;
    let doing = listed["agents"][0].as_object_mut().unwrap().remove("doing").unwrap();
    assert!(doing.as_str().unwrap().starts_with("last active "), "{doing}");
    let expected = json!([
        { "name": "boss", "id": "s1", "kind": "peer", "status": "idle", "uptime_seconds": 0 },
        {
            "name": "codex", "id": "s2", "kind": "agent", "status": "running", "profile": "codex", "cwd": "/project",
            "uptime_seconds": 0, "you": true,
        },
    ]);
    assert_eq!(listed["agents"], expected);
}

#[tokio::test]
async fn an_endpoint_with_a_wrong_identity_starts_and_every_tool_returns_the_error() {
    let team = Team::new();
    let bridge = team.membership("boss").await;
    let session = start(&bridge).await;
    for (member, session, token) in [
        ("codex", session, "guess"),
        ("other", session, "secret"),
        ("codex", random_ids::session(), "secret"),
    ] {
        let server = endpoint_tools::server(membership(&team.bus(), member, session, token));
        let mut client = Client::of(server);
        client.initialize().await;
        let listed = client.request("tools/list", json!({})).await;
        for tool in listed["result"]["tools"].as_array().unwrap() {
            let text = client.refused(tool["name"].as_str().unwrap(), json!({ "odd": 1 })).await;
            assert_eq!(
                text,
                "this endpoint does not belong to a live agent of the team: its token or session \
                    does not match"
            );
        }
    }
}

#[tokio::test]
async fn every_tool_of_a_dead_session_returns_the_error() {
    let team = Team::new();
    let (membership, other) = (team.membership("ann").await, team.membership("bob").await);
    let session = membership.session();
    let mut client = Client::of(endpoint_tools::server(LazyMembership::taken(membership)));
    client.initialize().await;
    let mut call = other.call();
    let hello = call.send("ann".into(), "hello".into(), None).await;
    hello.unwrap();
    let reap = Operation::Reap(vec![session.into()]);
    other.ask(reap).await.unwrap();
    let listed = client.request("tools/list", json!({})).await;
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let text = client.refused(tool["name"].as_str().unwrap(), json!({})).await;
        assert_eq!(text, "this session left the team and can no longer act");
    }
}

#[tokio::test]
async fn a_membership_that_could_not_be_taken_is_tried_again() {
    let team = Team::new();
    let membership = team.membership("ann").await;
    let tries = std::sync::atomic::AtomicUsize::new(0);
    let membership = LazyMembership::new(move || {
        let first = tries.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0;
        let outcome = if first {
            Err(ToolError::Unavailable("not now".into()))
        } else {
            Ok(membership.clone())
        };
        std::future::ready(outcome)
    });
    assert!(membership.membership().await.is_err());
    assert!(membership.membership().await.is_ok());
}
