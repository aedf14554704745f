//! `agent`: the endpoint that a spawned agent starts.
//!
//! It always serves, whatever is wrong: an agent whose MCP server does not start may say nothing of it for minutes, while an
//! error on the first call is read at once.

use std::sync::Arc;

use crate::cli::{Failure, open_bus, serve_mcp};
use crate::mcp::tools::endpoint_tools::{self, AgentIdentity, IdentityError};
use crate::mcp::{LazyMembership, ToolError};

pub(crate) fn run() -> Result<(), Failure> {
    serve(|error| error.to_string())
}

/// Serves whom the environment names; where it names nobody, each call is answered with what `explain` makes of that.
pub(crate) fn serve(explain: impl FnOnce(IdentityError) -> String) -> Result<(), Failure> {
    let identity = AgentIdentity::read(|name| std::env::var_os(name));
    let identity = identity.map(Arc::new).map_err(explain);
    if let Err(error) = &identity {
        tracing::error!("{error}");
    }
    serve_mcp::run(async move || {
        let membership = LazyMembership::new(move || take(identity.clone()));
        let server = endpoint_tools::server(membership.clone());
        serve_mcp::until_the_end(&server).await?;
        // The session is its bridge's to end.
        serve_mcp::close_bus(&membership).await;
        Ok(())
    })
}

async fn take(
    identity: Result<Arc<AgentIdentity>, String>,
) -> Result<crate::bus::Membership, ToolError> {
    let identity = identity.map_err(ToolError::Unavailable)?;
    let bus = open_bus::open_present_bus_aside(identity.directory.clone()).await?;
    bus.refresh()?;
    Ok(identity.membership(&bus)?)
}
