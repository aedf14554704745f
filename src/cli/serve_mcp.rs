//! The common parts of commands that serve MCP on stdio: the runtime, serving, and the end.

use std::io::{IsTerminal as _, stdin};

use tokio_util::sync::CancellationToken;

use super::signal_policy::StopRequests;
use super::{Failure, output};
use crate::bus::Membership;
use crate::domain::grace_periods;
use crate::domain::member::Departure;
use crate::mcp::{LazyMembership, Server, serve_stdio};
use crate::sys::open_file_limit;
use crate::sys::signal_streams;

/// Runs a command with a team, which needs some files for each agent.
pub(super) fn run_team<F>(command: impl FnOnce() -> F) -> Result<(), Failure>
where
    F: Future<Output = Result<(), Failure>>,
{
    if let Err(error) = open_file_limit::raise() {
        tracing::debug!("failed to raise the limit of open files: {error}");
    }
    run(command)
}

/// Runs a command on a runtime with one thread, which starts fast and suffices for one client.
pub(super) fn run<F>(command: impl FnOnce() -> F) -> Result<(), Failure>
where
    F: Future<Output = Result<(), Failure>>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(async {
        if let Err(error) = signal_streams::outlive_file_limit() {
            tracing::debug!(
                "failed to ignore SIGXFSZ, so a write beyond the file size limit will kill this \
                    process: {error}"
            );
        }
        command().await
    });
    runtime.shutdown_timeout(grace_periods::THREADS);
    done
}

/// Tells a person who started such a command at a terminal what it is, because it would wait there silently.
pub(super) fn greet_person() {
    if is_started_by_person() {
        output::tell(
            "This is an MCP server, which waits for its client on stdin; Ctrl-D ends it. Clients \
             start it themselves: `cli-team-bridge setup` connects yours.",
        );
    }
}

/// Says whether a person started this process, and no client.
pub(super) fn is_started_by_person() -> bool {
    stdin().is_terminal()
}

/// Serves on stdin and stdout until the client closes its end or a signal requests a stop.
pub(super) async fn until_the_end(server: &Server, stop: &mut StopRequests) {
    let ending = CancellationToken::new();
    let serving = serve_stdio(server, ending.clone());
    tokio::pin!(serving);
    tokio::select! {
        ended = &mut serving => tracing::debug!("ended: {ended:?}"),
        signal = stop.next() => {
            tracing::debug!("ending on {signal}");
            ending.cancel();
            serving.await;
        }
    }
}

/// Does the same for a command with a team. Once it ends, the last answers wait at most until the force stop. The shutdown of the
/// team handles that signal.
pub(super) async fn until_the_end_of_team(server: &Server, stop: &mut StopRequests) {
    let ending = CancellationToken::new();
    let serving = serve_stdio(server, ending.clone());
    tokio::pin!(serving);
    tokio::select! {
        biased;
        ended = &mut serving => return tracing::debug!("ended: {ended:?}"),
        () = server.ending().cancelled() => tracing::debug!("ending with the client"),
        signal = stop.next() => {
            tracing::debug!("ending on {signal}");
            ending.cancel();
        }
    }
    let mut force_stop = stop.clone();
    tokio::select! {
        biased;
        _ = serving => {}
        _ = force_stop.next() => {}
    }
}

/// Leaves the team, if the server has joined it, and closes the bus.
pub(super) async fn leave(membership: &LazyMembership) {
    if let Some(membership) = membership.current() {
        leave_team(membership).await;
    }
}

/// Leaves the team, and closes the bus.
pub(super) async fn leave_team(membership: Membership) {
    let leaving = async {
        if let Err(error) = membership.leave(Departure::Closed).await {
            tracing::warn!("failed to leave the team: {error}");
        }
        membership.bus().close().await;
    };
    within_goodbye(leaving).await;
}

/// Closes the bus. The session stays, as its bridge ends it.
pub(super) async fn close_bus(membership: &LazyMembership) {
    if let Some(membership) = membership.current() {
        within_goodbye(close(membership)).await;
    }
}

async fn close(membership: Membership) {
    membership.bus().close().await;
}

async fn within_goodbye(last: impl Future<Output = ()>) {
    if tokio::time::timeout(grace_periods::SERVER, last).await.is_err() {
        tracing::warn!("timed out while recording on the bus that this session left");
    }
}
