//! `peer`: the endpoint's tools for a session that nobody spawned.

use std::path::PathBuf;

use clap::Args;

use super::store::Outside;
use super::{Failure, below, orchestrator, project, served, store};
use crate::bus::rules::Wish;
use crate::bus::storage::file::Networks;
use crate::bus::{Joining, Seat};
use crate::domain::member::MemberKind;
use crate::domain::name::Name;
use crate::mcp::tools::endpoint_tools;
use crate::mcp::{Seating, ToolError};

/// Who joins.
#[derive(Clone, Debug, Args)]
pub(super) struct PeerArguments {
    /// The name by which the team knows this session.
    #[arg(long)]
    pub(super) name: Name,
    /// What it is for; may be given several times.
    #[arg(long = "role", value_name = "ROLE")]
    pub(super) roles: Vec<String>,
    /// The project whose team it joins [default: found from the current directory].
    #[arg(long, value_name = "DIR")]
    pub(super) project: Option<PathBuf>,
    /// Take over a bus that was made elsewhere: by default it is put aside, and a new one begins (also: `BRIDGE_ADOPT=1`).
    #[arg(long)]
    pub(super) adopt: bool,
}

pub(super) fn run(arguments: PeerArguments) -> Result<(), Failure> {
    // By a second name it would take that one's mail, and answer requests of its own.
    if below::is_below_an_agent() {
        return below::serve("join by another name");
    }
    let project = project::find(arguments.project.as_deref())?;
    // Profiles are none of a peer's business, but where the bus may be is.
    let networks = match orchestrator::load(&project.root, None) {
        Ok(config) => store::networks(&config),
        Err(error) => {
            tracing::warn!("the configuration is left out: {error}");
            Networks::Refused
        }
    };
    let foreign = store::foreign(arguments.adopt);
    let outside = Outside::new(project.bus_directory(), networks, foreign);
    let joining = Joining {
        wish: Wish::Chosen(arguments.name),
        kind: MemberKind::Peer,
        roles: arguments.roles,
    };
    served::run(async move || {
        let seating = Seating::new(move || take(outside.clone(), joining.clone()));
        let server = endpoint_tools::server_of_peer(seating.clone(), &project.root);
        served::until_the_end(&server).await?;
        served::leave(&seating).await;
        Ok(())
    })
}

async fn take(outside: Outside, joining: Joining) -> Result<Seat, ToolError> {
    let bus = store::open_bus_aside(outside).await?;
    Ok(bus.join(joining).await?)
}
