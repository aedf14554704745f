//! `peer`: the endpoint's tools for a session that no bridge started.

use std::path::PathBuf;

use clap::Args;

use crate::bus::rules::NameChoice;
use crate::bus::storage::file::Networks;
use crate::bus::{Joining, Membership};
use crate::cli::open_bus::Outside;
use crate::cli::{
    Failure, below_agent, find_project, load_config, open_bus, serve_endpoint, serve_mcp,
    signal_policy,
};
use crate::domain::member::MemberKind;
use crate::domain::name::Name;
use crate::mcp::tools::endpoint_tools;
use crate::mcp::{LazyMembership, ToolError};

/// Which team to join, and under which name.
#[derive(Clone, Debug, Args)]
pub(crate) struct PeerArguments {
    /// The name of this session in the team.
    #[arg(long)]
    pub(crate) name: Name,
    /// A role shown to the team; repeat for several.
    #[arg(long = "role", value_name = "ROLE")]
    pub(crate) roles: Vec<String>,
    /// The project directory [default: found from the current directory].
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Use a bus that was not created here, instead of setting it aside and starting a new one (also: `BRIDGE_ADOPT=1`).
    #[arg(long)]
    pub(crate) adopt: bool,
}

pub(crate) fn run(arguments: PeerArguments) -> Result<(), Failure> {
    // Under a second name the agent would receive that member's messages, and answer its own requests.
    if below_agent::is_below_an_agent() {
        return serve_endpoint::serve_instead_of("join under another name");
    }
    let project = find_project::find(arguments.project.as_deref())?;
    // A peer needs no profiles, but the setting of where the bus may be.
    let networks = match load_config::load(&project.root, None) {
        Ok(config) => open_bus::networks(&config),
        Err(error) => {
            tracing::warn!("ignored the configuration: {error}");
            Networks::Refused
        }
    };
    let foreign = open_bus::foreign(arguments.adopt);
    let outside = Outside::new(project.bus_directory(), networks, foreign);
    let joining = Joining {
        choice: NameChoice::Chosen(arguments.name),
        kind: MemberKind::Peer,
        roles: arguments.roles,
    };
    serve_mcp::greet_person();
    serve_mcp::run(async move || {
        signal_policy::obey(async move |mut stop| {
            let membership = LazyMembership::new(move || join(outside.clone(), joining.clone()));
            let server = endpoint_tools::server_of_peer(membership.clone(), &project.root);
            serve_mcp::until_the_end(&server, &mut stop).await;
            serve_mcp::leave(&membership).await;
            Ok(())
        })
        .await
    })
}

async fn join(outside: Outside, joining: Joining) -> Result<Membership, ToolError> {
    let bus = open_bus::open_bus_aside(outside).await.map_err(open_bus::logged)?;
    bus.join(joining).await.map_err(open_bus::logged)
}
