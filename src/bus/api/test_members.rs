//! Members of a bus in memory, for tests.

use crate::bus::api::membership::{Membership, token_hash};
use crate::bus::event::Starting;
use crate::bus::rules::{Description, NameChoice, NewAgent, Operation};
use crate::bus::{Bus, Joining};
use crate::domain::ids::SessionId;
use crate::domain::member::MemberKind;
use crate::domain::name::Name;
use crate::sys::random_ids;

impl Bus {
    /// Joins as a peer under this name.
    pub(crate) async fn join_peer(&self, name: &str) -> Membership {
        let choice = NameChoice::Chosen(Name::parse(name).unwrap());
        let (kind, roles) = (MemberKind::Peer, Vec::new());
        let joined = Membership::join(
            self,
            Joining { choice, kind, roles, description: Description::default() },
        )
        .await;
        joined.unwrap()
    }
}

/// Records the start of an agent whose endpoints show this token, without a process.
pub(super) async fn start(bridge: &Membership, token: &str) -> SessionId {
    let session = random_ids::session();
    bridge.bus().hold(session).unwrap();
    let starting = Starting {
        session,
        name: Name::parse("codex").unwrap(),
        chosen: false,
        profile: "codex".into(),
        model: None,
        cwd: "/project".into(),
        roles: Vec::new(),
        owner: bridge.session(),
        token_hash: token_hash(token),
    };
    let choice = NameChoice::Like(starting.name.clone());
    let new = NewAgent::new(choice, starting);
    bridge.ask(Operation::Start(Box::new(new), None)).await.unwrap();
    session
}
