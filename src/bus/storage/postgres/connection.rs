//! One connection to the server, opened when it is first needed, and anew when it has broken.
//!
//! It has a runtime of its own on the calling thread: whoever uses it may block. Every use has a deadline, because a server that was
//! stopped keeps its connections open and answers nothing.

use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio_postgres::{Client, Config, NoTls};

use crate::bus::storage::LogError;

/// The pause before another attempt to connect.
const PAUSE: Duration = Duration::from_millis(50);

/// A connection, or the next one.
pub(super) struct Connection {
    /// None once this is being dropped.
    runtime: Option<Runtime>,
    config: Config,
    pub(super) server: String,
    client: Option<Client>,
}

/// Why a use of the connection failed.
pub(super) enum Failed {
    /// The server answered with an error, or the connection broke.
    Server(tokio_postgres::Error),
    /// No answer came in time.
    Late,
}

impl Connection {
    pub(super) fn new(address: &str) -> Result<Self, LogError> {
        let unfit = |reason: String| LogError::Unfit { server: "of the setting".into(), reason };
        let config: Config = address.parse().map_err(|error| unfit(format!("{error}")))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| unfit(format!("{error}")))?;
        let server = shown(&config);
        Ok(Self { runtime: Some(runtime), config, server, client: None })
    }

    /// Uses the connection once, with an error that says what happened to the server.
    pub(super) fn run<T>(
        &mut self,
        until: Instant,
        work: impl AsyncFn(&Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, LogError> {
        loop {
            match self.attempt(until, &work) {
                Ok(done) => return Ok(done),
                Err(Failed::Server(error)) if error.as_db_error().is_some() => {
                    return Err(self.unfit(&error));
                }
                Err(failed) if Instant::now() + PAUSE >= until => return Err(self.away(failed)),
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Uses the connection once. After a failure the next use opens a new one.
    pub(super) fn attempt<T>(
        &mut self,
        until: Instant,
        work: impl AsyncFn(&Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, Failed> {
        let Self { runtime: Some(runtime), config, client, .. } = self else {
            return Err(Failed::Late);
        };
        let done = runtime.block_on(async {
            let work = async {
                if client.as_ref().is_none_or(Client::is_closed) {
                    *client = Some(connect(config).await?);
                }
                match client {
                    Some(client) => work(client).await,
                    None => unreachable!("it was just opened"),
                }
            };
            tokio::time::timeout_at(until.into(), work).await
        });
        match done {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => {
                if error.as_db_error().is_none() {
                    self.client = None;
                }
                Err(Failed::Server(error))
            }
            Err(_) => {
                self.client = None;
                Err(Failed::Late)
            }
        }
    }

    pub(super) fn away(&self, failed: Failed) -> LogError {
        let reason = match failed {
            Failed::Server(error) => said(&error),
            Failed::Late => "no answer came in time".to_owned(),
        };
        LogError::Away { server: self.server.clone(), reason }
    }

    pub(super) fn unfit(&self, error: &tokio_postgres::Error) -> LogError {
        LogError::Unfit { server: self.server.clone(), reason: said(error) }
    }
}

impl Drop for Connection {
    /// Ends the runtime without waiting, which a thread of another runtime must not do.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn connect(config: &Config) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!("the connection to the server of the bus ended: {error}");
        }
    });
    Ok(client)
}

/// Says what the server said, or what became of the connection.
fn said(error: &tokio_postgres::Error) -> String {
    use std::error::Error as _;
    match (error.as_db_error(), error.source()) {
        (Some(database), _) => database.message().to_owned(),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}

/// Names a server without its password.
fn shown(config: &Config) -> String {
    use tokio_postgres::config::Host;
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        Some(Host::Unix(path)) => path.display().to_string(),
        None => "localhost".to_owned(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    format!("{host}:{port}/{}", config.get_dbname().unwrap_or_default())
}
