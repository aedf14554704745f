//! `peer`: the endpoint's tools for a session that no bridge started.

use std::path::PathBuf;

use clap::Args;

use crate::bus::rules::{Description, NameChoice};
use crate::bus::storage::file::Networks;
use crate::bus::{Joining, Membership};
use crate::cli::open_bus::Outside;
use crate::cli::{
    Failure, below_agent, failure, find_project, load_config, open_bus, serve_endpoint, serve_mcp,
    signal_policy,
};
use crate::domain::limits;
use crate::domain::member::{Label, MemberKind, Traits};
use crate::domain::name::Name;
use crate::mcp::tools::endpoint_tools;
use crate::mcp::{LazyMembership, ToolError};

/// Which team to join, and under which name.
#[derive(Clone, Debug, Args)]
pub(crate) struct PeerArguments {
    /// The name of this session in the team [default: a free word of `[names] pool` in the configuration].
    #[arg(long)]
    pub(crate) name: Option<Name>,
    /// A role in a word, by which the team addresses this session (@reviewer); repeat for several.
    #[arg(long = "role", value_name = "WORD")]
    pub(crate) roles: Vec<Label>,
    /// What this session can do, in a word; repeat for several.
    #[arg(long = "capability", value_name = "WORD")]
    pub(crate) capabilities: Vec<Label>,
    /// The part of the work that this session does, in a word.
    #[arg(long, value_name = "WORD")]
    pub(crate) lane: Option<Label>,
    /// What this session wants to hear of, in a word; repeat for several.
    #[arg(long = "topic", value_name = "WORD")]
    pub(crate) topics: Vec<Label>,
    /// The program in which the model works, such as claude-code.
    #[arg(long, value_name = "WORD")]
    pub(crate) surface: Option<Label>,
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
    // A peer needs no profiles, but the setting of where the bus may be, and the pool of names.
    let (networks, pool) = match load_config::load(&project.root, None) {
        Ok(config) => (open_bus::networks(&config), config.pool().to_vec()),
        Err(error) if arguments.name.is_none() => return Err(error),
        Err(error) => {
            tracing::warn!("ignored the configuration: {error}");
            (Networks::Refused, Vec::new())
        }
    };
    let foreign = open_bus::foreign(arguments.adopt);
    let outside = Outside::new(project.bus_directory(), networks, foreign);
    let joining = joining(arguments, pool)?;
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

/// Returns as whom the session joins.
fn joining(arguments: PeerArguments, pool: Vec<Name>) -> Result<Joining, Failure> {
    let PeerArguments { name, roles, capabilities, lane, topics, surface, .. } = arguments;
    for (flag, words) in [("--capability", &capabilities), ("--topic", &topics)] {
        if words.len() > limits::MEMBER_LABELS {
            let most = limits::MEMBER_LABELS;
            let count = words.len();
            return Err(format!("{flag} is there {count} times; the limit is {most}").into());
        }
    }
    let here = std::env::current_dir().ok();
    let cwd = here.map(|here| here.to_string_lossy().into_owned());
    let choice = match name {
        Some(name) => NameChoice::Chosen(name),
        None if pool.is_empty() => {
            let hint = "name this session with --name, or list names for such sessions as `pool` under \
                [names] of the configuration";
            return Err(failure::with_hint("this session has no name", hint));
        }
        None => NameChoice::FromPool { pool, cwd: cwd.clone().unwrap_or_default() },
    };
    let roles = roles.iter().map(|role| role.as_str().to_owned()).collect();
    let traits = Traits { lane, capabilities, topics, surface };
    let description = Description { traits, cwd };
    Ok(Joining { choice, kind: MemberKind::Peer, roles, description })
}

async fn join(outside: Outside, joining: Joining) -> Result<Membership, ToolError> {
    let bus = open_bus::open_bus_aside(outside).await.map_err(open_bus::logged)?;
    bus.join(joining).await.map_err(open_bus::logged)
}
