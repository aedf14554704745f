//! Serves the endpoint of an agent that a bridge started: the team's tools, for the session that the environment names.
//!
//! It serves even if something is wrong. An agent whose MCP server does not start may not report that for minutes, but its model
//! reads an error in the first answer at once.

use std::sync::Arc;

use super::{Failure, below_agent, find_project, open_bus, serve_mcp, signal_policy};
use crate::bus::Membership;
use crate::mcp::tools::endpoint_tools::{self, AgentIdentity, IdentityError};
use crate::mcp::{LazyMembership, ToolError};

/// The advice in each error to a process below an agent.
const ADVICE: &str = "use the tools of the MCP server `bridge` that this agent was started with";

/// Serves the endpoint of the agent above this process instead of running the command. If the environment does not name the agent,
/// each call is answered with the reason why the command does nothing here.
pub(super) fn serve_instead_of(act: &'static str) -> Result<(), Failure> {
    let why = below_agent::why();
    serve(move |error| {
        tracing::debug!("cannot read the agent's identity: {error}");
        format!("{why}, and an agent cannot {act}: {ADVICE}")
    })
}

/// Serves the session that the environment names. If it names none, each call is answered with the text that `explain` makes of the
/// error.
pub(super) fn serve(explain: impl FnOnce(IdentityError) -> String) -> Result<(), Failure> {
    let identity = AgentIdentity::read(|name| std::env::var_os(name));
    let identity = identity.map(Arc::new).map_err(explain);
    if let Err(error) = &identity {
        tracing::error!("{error}");
    }
    let project = identity.as_ref().ok().and_then(|own| find_project::of_bus(&own.directory));
    serve_mcp::greet_person();
    serve_mcp::run(async move || {
        signal_policy::obey(async move |mut stop| {
            let membership = LazyMembership::new(move || find_membership(identity.clone()));
            let server = match &project {
                Some(project) => endpoint_tools::server_of_agent(membership.clone(), project),
                None => endpoint_tools::server(membership.clone()),
            };
            serve_mcp::until_the_end(&server, &mut stop).await;
            serve_mcp::close_bus(&membership).await;
            Ok(())
        })
        .await
    })
}

async fn find_membership(
    identity: Result<Arc<AgentIdentity>, String>,
) -> Result<Membership, ToolError> {
    let identity = identity.map_err(ToolError::Unavailable)?;
    let opened = open_bus::open_present_bus_aside(identity.directory.clone()).await;
    let bus = opened.map_err(open_bus::logged)?;
    bus.refresh()?;
    Ok(identity.membership(&bus)?)
}
