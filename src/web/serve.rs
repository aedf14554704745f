//! The server: listens on loopback, takes a bounded number of connections, each with a deadline for its headers, and ends at once when
//! it is told to, open event streams too.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::acts::Surroundings;
use super::api::{KeptAnswers, api_routes};
use super::bus_reader::BusReader;
use super::connection_places::ConnectionPlaces;
use super::gate::{
    AllowedHosts, CallerRates, EntryKeys, KnownKeys, OneAtATime, SIGN_IN, add_safety_headers,
    check_request, raw_safety_headers,
};
use super::live::live;
use super::page_diffs::PageDiffs;
use super::programs::{JoinedPrograms, sweep_dead};
use super::routes::{do_act, show_page, sign_in};
use super::serve_connection::serve_connection;
use super::server_state::{ServerState, Shared, WebSettings};
use crate::domain::{grace_periods, limits, wait_times};

/// How often a free port of IPv4 is tried that IPv6 does not have.
const PORT_ATTEMPTS: u32 = 10;

/// The pause after a connection could not be taken, as when the process has no more files.
const AFTER_FAILURE: std::time::Duration = std::time::Duration::from_millis(100);

/// A server that listens.
pub struct WebServer {
    listeners: Vec<TcpListener>,
    port: u16,
    state: ServerState,
}

impl WebServer {
    /// Begins to listen on loopback. Must be called within a tokio runtime.
    pub async fn bind(
        settings: WebSettings,
        surroundings: Arc<dyn Surroundings>,
    ) -> io::Result<Self> {
        let (listeners, port) = listen(settings.port).await?;
        let reader = BusReader::start(Arc::clone(&surroundings), settings.project.clone())?;
        let state = ServerState::new(Shared {
            hosts: AllowedHosts::of_port(port),
            keys: EntryKeys::new(port, settings.base_path.as_str().to_owned()),
            rates: CallerRates::default(),
            reader,
            diffs: PageDiffs::none_yet(Arc::clone(&surroundings)),
            programs: JoinedPrograms::none_yet(Arc::clone(&surroundings)),
            surroundings,
            streams: Arc::new(Semaphore::new(limits::WEB_STREAMS)),
            program_streams: Arc::new(Semaphore::new(limits::WEB_STREAMS)),
            known_keys: KnownKeys::default(),
            expensive_reads: OneAtATime::default(),
            kept_answers: KeptAnswers::default(),
            ending: CancellationToken::new(),
            notice: Mutex::new(None),
            settings,
        });
        Ok(Self { listeners, port, state })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the URL that signs in, once.
    pub fn sign_in_url(&self) -> String {
        let token = self.state.keys.sign_in_token().unwrap_or_default();
        format!("http://127.0.0.1:{}{SIGN_IN}?token={token}", self.port)
    }

    /// Serves until `stop` is done, then ends all connections.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let Self { listeners, state, .. } = self;
        let router = router(&state);
        let places = ConnectionPlaces::of(limits::WEB_CONNECTIONS + limits::WEB_STREAMS);
        let mut connections = JoinSet::new();
        if state.settings.can_write {
            connections.spawn(sweep_dead(state.reader.clone(), state.programs.clone()));
        }
        tokio::pin!(stop);
        loop {
            tokio::select! {
                biased;
                () = &mut stop => break,
                accepted = accept(&listeners) => match accepted {
                    Ok(stream) => {
                        let ending = state.ending.clone();
                        match places.take(Instant::now()) {
                            Some(place) => {
                                let router = router.clone();
                                connections.spawn(serve_connection(stream, router, place, ending));
                            }
                            None => refuse(stream).await,
                        }
                    }
                    Err(error) => {
                        tracing::debug!(%error, "failed to take a connection");
                        tokio::time::sleep(AFTER_FAILURE).await;
                    }
                },
                Some(_) = connections.join_next() => {}
            }
        }
        drop(listeners);
        state.ending.cancel();
        state.reader.end();
        let finishing = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(grace_periods::WEB_END, finishing).await.is_err() {
            connections.abort_all();
        }
        if tokio::time::timeout(grace_periods::SERVER, state.programs.end()).await.is_err() {
            tracing::warn!("timed out while the programs that have joined were leaving");
        }
    }
}

/// Listens on both addresses of loopback, on one port. A machine without IPv6 has one.
async fn listen(port: Option<u16>) -> io::Result<(Vec<TcpListener>, u16)> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let four =
            TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port.unwrap_or(0)))).await?;
        let bound = four.local_addr()?.port();
        match TcpListener::bind(SocketAddr::from((Ipv6Addr::LOCALHOST, bound))).await {
            Ok(six) => return Ok((vec![four, six], bound)),
            // Another program would answer by the name `localhost`.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                if port.is_some() || attempts >= PORT_ATTEMPTS {
                    return Err(error);
                }
            }
            Err(error) => {
                tracing::debug!(%error, "there is no IPv6 loopback");
                return Ok((vec![four], bound));
            }
        }
    }
}

async fn accept(listeners: &[TcpListener]) -> io::Result<TcpStream> {
    let mut accepting = listeners.iter().map(|listener| Box::pin(listener.accept()));
    let (first, second) = (accepting.next(), accepting.next());
    let accepted = match (first, second) {
        (Some(first), Some(second)) => {
            tokio::select! { one = first => one, other = second => other }
        }
        (Some(only), None) => only.await,
        (None, _) => return std::future::pending().await,
    };
    accepted.map(|(stream, _)| stream)
}

/// The routes, behind the gate, and the headers of every answer around it.
fn router(state: &ServerState) -> Router {
    let base = state.settings.base_path.as_str();
    Router::new()
        .route(SIGN_IN, get(sign_in))
        .route(&format!("{base}live"), get(live))
        .route(&format!("{base}act/{{name}}"), post(do_act))
        .nest("/api/v1", api_routes(state))
        .fallback(show_page)
        .layer(from_fn_with_state(state.clone(), check_request))
        .layer(from_fn(add_safety_headers))
        .with_state(state.clone())
}

/// Answers a connection that is one too many, without waiting for a slow reader.
async fn refuse(mut stream: TcpStream) {
    let busy = wait_times::WEB_BUSY.as_secs();
    let safety = raw_safety_headers();
    let words = "Too many connections are open. Close some pages, or try again in a moment.\n";
    let length = words.len();
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\nretry-after: {busy}\r\nconnection: close\r\n\
         content-type: text/plain; charset=utf-8\r\ncontent-length: {length}\r\n{safety}\r\n{words}"
    );
    // A new connection has room for so little.
    let _ = tokio::time::timeout(AFTER_FAILURE, stream.write_all(answer.as_bytes())).await;
}
