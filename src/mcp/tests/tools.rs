//! The bus records that a session has our tools, however busy it is at first.

use std::sync::Arc;

use serde_json::json;

use super::fixture::{Client, PATIENCE};
use crate::bus::api::membership::token_hash;
use crate::bus::event::{Event, Starting};
use crate::bus::rules::{Description, NameChoice, NewAgent, Operation};
use crate::bus::storage::faulty_log::{Fault, Faults};
use crate::bus::storage::in_memory::Store;
use crate::bus::{Bus, Joining, Membership};
use crate::domain::ids::SessionId;
use crate::domain::member::{MemberKind, Tools};
use crate::domain::name::Name;
use crate::mcp::LazyMembership;
use crate::mcp::tools::endpoint_tools;
use crate::sys::{clock, random_ids};

const TOKEN: &str = "a token";

/// An agent on a failing bus, and a client of its endpoint.
struct Agent {
    lead: Membership,
    session: SessionId,
    client: Client,
}

async fn agent(faults: &Faults) -> Agent {
    let store = Store::new(Arc::new(clock::now));
    let bus = Bus::open(Box::new(store.log())).unwrap();
    let name = |name| Name::parse(name).unwrap();
    let joining = Joining {
        choice: NameChoice::Chosen(name("boss")),
        kind: MemberKind::Orchestrator,
        roles: Vec::new(),
        description: Description::default(),
    };
    let lead = Membership::join(&bus, joining).await.unwrap();
    let session = random_ids::session();
    bus.hold(session).unwrap();
    let starting = Starting {
        session,
        name: name("codex"),
        chosen: false,
        profile: "codex".into(),
        model: None,
        cwd: "/project".into(),
        roles: Vec::new(),
        owner: lead.session(),
        token_hash: token_hash(TOKEN),
    };
    let choice = NameChoice::Like(name("codex"));
    let new = Box::new(NewAgent::new(choice, starting));
    lead.ask(Operation::Start(new, None)).await.unwrap();
    let failing = Bus::open(Box::new(faults.before(store.log()))).unwrap();
    let membership = Membership::of_agent(&failing, session, TOKEN).unwrap();
    let mut client = Client::of(endpoint_tools::server(LazyMembership::taken(membership)));
    client.initialize().await;
    Agent { lead, session, client }
}

impl Agent {
    fn tools(&self) -> Tools {
        self.lead.bus().refresh().unwrap();
        let tools = |state: &crate::bus::state::State| state.session(self.session).unwrap().tools;
        self.lead.bus().look(tools)
    }

    async fn until_ready(&self) {
        let mut changes = self.lead.bus().changes();
        let waiting = async {
            while self.tools() != Tools::Ready {
                changes.changed().await.unwrap();
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap();
    }
}

fn is_about_tools(event: &Event) -> bool {
    matches!(event, Event::MemberTools { .. })
}

#[tokio::test]
async fn ready_tools_are_announced_until_the_bus_has_recorded_it() {
    let faults = Faults::default();
    let mut agent = agent(&faults).await;
    faults.fail_at(2, Fault::Busy, is_about_tools);
    agent.client.request("tools/list", json!({})).await;
    agent.until_ready().await;
    assert_eq!(faults.failed(), 2);
}

#[tokio::test]
async fn any_call_of_a_tool_proves_that_the_tools_are_ready() {
    let mut agent = agent(&Faults::default()).await;
    assert_eq!(agent.tools(), Tools::Unproven);
    agent.client.call("check_messages", json!({})).await;
    agent.until_ready().await;
}
