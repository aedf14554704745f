//! The life of a server on its pipes: from the first byte to the last answer.

use rmcp::ServiceExt;
use rmcp::service::{QuitReason, ServerInitializeError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::client_pipes::Wire;
use super::first_message::Opening;
use super::server_handle::Server;
use crate::domain::grace_periods;
use crate::sys::pipe_backlog::Inflow;

/// Why a server has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEnd {
    /// The client closed its end.
    Closed,
    /// `stop` was cancelled.
    Stopped,
}

/// Serves on stdin and stdout; see [`serve`].
pub async fn serve_stdio(server: &Server, stop: CancellationToken) -> ServerEnd {
    let (input, output) = rmcp::transport::stdio_pipes();
    let inflow = Inflow::of(std::io::stdin());
    serve_over(server, (input, inflow), output, stop).await
}

/// Serves until the input ends or `stop` is cancelled. When it returns, all tasks of the server have ended.
pub async fn serve<R, W>(server: &Server, input: R, output: W, stop: CancellationToken) -> ServerEnd
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    serve_over(server, (input, Inflow::default()), output, stop).await
}

/// Serves like [`serve`], with the size of the unread input where the system reports it.
async fn serve_over<R, W>(
    server: &Server,
    (input, inflow): (R, Inflow),
    output: W,
    stop: CancellationToken,
) -> ServerEnd
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let ending = server.ending().clone();
    let (membership, gone) = (server.membership().clone(), ending.clone());
    // The membership is taken while the client still introduces itself; a later call gets the error, if any.
    server.tasks().spawn(async move {
        tokio::select! {
            membership = membership.membership() => drop(membership),
            () = gone.cancelled() => {}
        }
    });
    let transport =
        Opening::new(Wire::new(input, inflow, output, ending.clone()), server.versions());
    let serving = run(server.clone(), transport, &stop);
    let ended = tokio::select! {
        ended = serving => ended,
        () = overdue(&ending, &stop) => {
            tracing::warn!("the client stopped reading; exiting without the last responses");
            ServerEnd::Closed
        }
    };
    ending.cancel();
    server.tasks().close();
    if tokio::time::timeout(grace_periods::LAST_CALLS, server.tasks().wait()).await.is_err() {
        tracing::warn!("exiting with calls that the bus has not answered");
    }
    if stop.is_cancelled() { ServerEnd::Stopped } else { ended }
}

async fn run<T>(server: Server, transport: Opening<T>, stop: &CancellationToken) -> ServerEnd
where
    T: rmcp::transport::Transport<rmcp::RoleServer> + 'static,
{
    // A child token, because the library cancels the token that it gets when it is done.
    let service = match server.serve_with_ct(transport, stop.child_token()).await {
        Ok(service) => service,
        Err(ServerInitializeError::Cancelled) => return ServerEnd::Stopped,
        Err(error) => {
            // The input ended before the first request, or writing failed.
            tracing::debug!("failed to serve: {error}");
            return ServerEnd::Closed;
        }
    };
    match service.waiting().await {
        Ok(QuitReason::Cancelled) => ServerEnd::Stopped,
        Ok(QuitReason::Closed) => ServerEnd::Closed,
        Ok(reason) => {
            tracing::error!("the server stopped: {reason:?}");
            ServerEnd::Closed
        }
        Err(error) => {
            tracing::error!("the server stopped: {error}");
            ServerEnd::Closed
        }
    }
}

/// Returns when the time for the last answers is over.
async fn overdue(ending: &CancellationToken, stop: &CancellationToken) {
    tokio::select! {
        () = ending.cancelled() => {}
        () = stop.cancelled() => ending.cancel(),
    }
    tokio::time::sleep(grace_periods::LAST_ANSWERS).await;
}
