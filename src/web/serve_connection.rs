//! One connection: its requests one after the other, with a deadline for their headers, and for a client to read its answers.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;

use crate::domain::{limits, wait_times};

/// Answers until the client is done, fails or is too slow, or the server ends.
pub(super) async fn serve_connection<S: AsyncRead + AsyncWrite + Send + 'static>(
    stream: S,
    router: Router,
    ending: CancellationToken,
) {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(wait_times::WEB_READER));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(wait_times::WEB_HEADERS)
        .max_buf_size(limits::WEB_HEADER_BYTES)
        .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(router));
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = ending.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection has failed");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::Instant;

    use super::*;

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

    fn router() -> Router {
        Router::new().fallback(async || "x".repeat(100_000))
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_loses_its_connection() {
        let (mut client, server) = duplex(1_000);
        let serving = tokio::spawn(serve_connection(server, router(), CancellationToken::new()));
        let began = Instant::now();
        client.write_all(REQUEST).await.unwrap();
        serving.await.unwrap();
        let limit = wait_times::WEB_READER;
        assert!((limit..limit * 2).contains(&began.elapsed()), "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_slowly_gets_everything() {
        let (mut client, server) = duplex(1_000);
        let serving = tokio::spawn(serve_connection(server, router(), CancellationToken::new()));
        client.write_all(REQUEST).await.unwrap();
        let (mut answer, mut part) = (0, [0; 1_000]);
        loop {
            tokio::time::sleep(Duration::from_secs(5)).await;
            match client.read(&mut part).await.unwrap() {
                0 => break,
                read => answer += read,
            }
        }
        assert!(answer > 100_000, "{answer} bytes");
        serving.await.unwrap();
    }
}
