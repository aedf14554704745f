//! One connection: its requests one after the other, with a deadline for their headers, and for a client to read its answers.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;

use super::connection_places::{Answering, Place};
use crate::domain::{limits, wait_times};

/// Answers until the client is done, fails or is too slow, another connection has its place, or the server ends.
pub(super) async fn serve_connection<S: AsyncRead + AsyncWrite + Send + 'static>(
    stream: S,
    router: Router,
    place: Place,
    ending: CancellationToken,
) {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(wait_times::WEB_READER));
    let router = TowerToHyperService::new(router);
    let service = service_fn(|request| {
        let (answering, answered) = (place.answering(), router.call(request));
        async move { answered.await.map(|answer| answer.map(|body| Answer { body, _of: answering })) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(wait_times::WEB_HEADERS)
        .max_buf_size(limits::WEB_HEADER_BYTES)
        .serve_connection(TokioIo::new(Box::pin(stream)), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = place.lost() => return,
        () = ending.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection has failed");
    }
}

/// The body of an answer, as long as which its connection is at work.
struct Answer {
    body: Body,
    _of: Answering,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::Instant;

    use super::*;
    use crate::web::connection_places::ConnectionPlaces;

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

    fn place() -> Place {
        ConnectionPlaces::of(1).take(std::time::Instant::now()).unwrap()
    }

    fn router() -> Router {
        Router::new().fallback(async || "x".repeat(100_000))
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_loses_its_connection() {
        let (mut client, server) = duplex(1_000);
        let serving =
            tokio::spawn(serve_connection(server, router(), place(), CancellationToken::new()));
        let began = Instant::now();
        client.write_all(REQUEST).await.unwrap();
        serving.await.unwrap();
        let limit = wait_times::WEB_READER;
        assert!((limit..limit * 2).contains(&began.elapsed()), "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_slowly_gets_everything() {
        let (mut client, server) = duplex(1_000);
        let serving =
            tokio::spawn(serve_connection(server, router(), place(), CancellationToken::new()));
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
