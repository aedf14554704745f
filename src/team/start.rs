//! Starting an agent: its process, its connection, its session with our endpoint in it.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use super::launch::{Identity, Launch};
use super::login;
use crate::acp::{
    AcpError, AgentEvents, ConnectOptions, Connection, McpServerSpec, SessionInfo, connect,
};
use crate::config::Profile;
use crate::supervisor::{self, SpawnError, Supervised};

/// The end of an agent's stderr that goes into an error: enough for a reason, short enough for a model.
const STDERR_SHOWN_BYTES: usize = 2048;

/// A started agent.
pub(super) struct Started {
    pub(super) child: Supervised,
    pub(super) connection: Connection,
    pub(super) events: AgentEvents,
    pub(super) session: SessionInfo,
    pub(super) endpoint: McpServerSpec,
}

/// Why an agent did not start.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    /// Its process could not be made.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// It ended before it was ready.
    #[error("it ended before it was ready: {0}")]
    Ended(String),
    /// It does not answer as an agent.
    #[error("{error}{login}{}", stderr_shown(.stderr))]
    Protocol {
        /// What it did or did not answer.
        error: Box<AcpError>,
        /// How to log in, if that is what is missing.
        login: String,
        /// The end of its stderr.
        stderr: String,
    },
}

/// Starts the process. Everything after that can be undone by stopping it.
pub(super) async fn spawn(
    launch: &Launch,
    profile: &Profile,
    program: PathBuf,
    identity: &Identity,
    presence: Option<OwnedFd>,
) -> Result<(Supervised, supervisor::Pipes), StartError> {
    Ok(supervisor::spawn(launch.child(profile, program, identity, presence)).await?)
}

/// Connects to a started process, and begins its session.
pub(super) async fn connect_to(
    child: Supervised,
    pipes: supervisor::Pipes,
    endpoint: McpServerSpec,
    identity: &Identity,
    profile: &Profile,
) -> Result<Started, StartError> {
    let exited = child.exited();
    let connecting = begin(pipes, &endpoint, identity);
    let begun = tokio::select! {
        begun = connecting => begun,
        exit = exited => return Err(StartError::Ended(told_exit(&child, &exit.to_string()))),
    };
    match begun {
        Ok((connection, events, session)) => Ok(Started {
            child,
            connection,
            events,
            session,
            endpoint,
        }),
        Err(AcpError::Closed { .. }) => {
            let exit = child.exited();
            // It closed its stdout, so its exit is near; if it is not, its silence is the reason.
            match tokio::time::timeout(std::time::Duration::from_secs(2), exit).await {
                Ok(exit) => Err(StartError::Ended(told_exit(&child, &exit.to_string()))),
                Err(_) => Err(StartError::Ended(told_exit(&child, "it closed its stdout"))),
            }
        }
        Err(error) => Err(StartError::Protocol {
            login: login::hint(&error, profile),
            error: Box::new(error),
            stderr: child.stderr_tail(),
        }),
    }
}

async fn begin(
    pipes: supervisor::Pipes,
    endpoint: &McpServerSpec,
    identity: &Identity,
) -> Result<(Connection, AgentEvents, SessionInfo), AcpError> {
    let (connection, events) =
        connect(pipes.stdout, pipes.stdin, ConnectOptions::default()).await?;
    connection.initialize().await?;
    let session = connection
        .new_session(&identity.cwd, std::slice::from_ref(endpoint))
        .await?;
    Ok((connection, events, session))
}

/// Tells how an agent ended, with what it said last.
pub(super) fn told_exit(child: &Supervised, exit: &str) -> String {
    format!("{exit}{}", stderr_shown(&child.stderr_tail()))
}

/// Returns the end of a stderr text, ready to append.
fn stderr_shown(stderr: &str) -> String {
    let stderr = stderr.trim();
    if stderr.is_empty() {
        return String::new();
    }
    let mut from = stderr.len().saturating_sub(STDERR_SHOWN_BYTES);
    while !stderr.is_char_boundary(from) {
        from += 1;
    }
    let cut = if from > 0 { "…" } else { "" };
    format!("; its stderr ends: {cut}{}", &stderr[from..])
}
