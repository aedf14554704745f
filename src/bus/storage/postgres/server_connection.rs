//! One connection to the server, opened when it is first needed, and anew when it has broken.
//!
//! It has a runtime of its own on the calling thread: whoever uses it may block. Every use has a deadline, because a server that was
//! stopped keeps its connections open and answers nothing.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{
    AsyncMessage, Client, Config, Connection as Connected, NoTls, Row, SimpleQueryMessage,
    Statement,
};

use super::encryption;
use super::server_address::Address;
use crate::bus::storage::LogError;
use crate::domain::wait_times;

/// The pause before another attempt to connect.
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// The oldest version that may serve: 14, which is the oldest that is maintained, and the newest function in use is of 13.
const OLDEST_VERSION: i32 = 140_000;

/// What a server is asked once for each connection, in one round trip.
const FITNESS: &str = "
SELECT current_setting('server_version_num')::int, pg_is_in_recovery(), current_setting('fsync'),
       current_setting('full_page_writes'), current_setting('synchronous_commit'), current_setting('transaction_read_only')";

/// A connection, or the next one.
pub(super) struct Connection {
    /// None once this is being dropped.
    runtime: Option<Runtime>,
    address: Address,
    session: Option<Session>,
    /// What has come without being asked for.
    news: Arc<News>,
    /// Whether the last use had a connection, so that the server may have done what it was asked.
    pub(super) has_asked: bool,
    /// What is to be said to the server at the beginning of each connection.
    pub(super) greeting: Option<String>,
}

/// What the server tells without being asked: the greatest seq of a next line.
#[derive(Default)]
struct News {
    has_come: Notify,
    next_seq: AtomicU64,
}

impl News {
    fn note(&self, told: &str) {
        // Whoever tells something else makes this host ask.
        let next_seq = told.parse().unwrap_or(u64::MAX);
        self.next_seq.fetch_max(next_seq, Ordering::AcqRel);
        self.has_come.notify_one();
    }

    fn take(&self) -> Option<u64> {
        Some(self.next_seq.swap(0, Ordering::AcqRel)).filter(|seq| *seq > 0)
    }
}

/// An open connection. It prepares each statement once, so that a use of it is one round trip.
pub(super) struct Session {
    client: Client,
    statements: RefCell<HashMap<String, Statement>>,
    /// Whether a transaction is open in which the turn among all machines is held, or waited for.
    pub(super) is_in_turn: Cell<bool>,
}

type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

impl Session {
    pub(super) async fn prepared(&self, sql: &str) -> Result<Statement, tokio_postgres::Error> {
        if let Some(statement) = self.statements.borrow().get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql).await?;
        self.statements.borrow_mut().insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    pub(super) async fn query(
        &self,
        sql: &str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        self.client.query(&self.prepared(sql).await?, values).await
    }

    pub(super) async fn query_one(
        &self,
        sql: &str,
        values: Values<'_>,
    ) -> Result<Row, tokio_postgres::Error> {
        self.client.query_one(&self.prepared(sql).await?, values).await
    }

    pub(super) async fn query_opt(
        &self,
        sql: &str,
        values: Values<'_>,
    ) -> Result<Option<Row>, tokio_postgres::Error> {
        self.client.query_opt(&self.prepared(sql).await?, values).await
    }

    pub(super) async fn execute(
        &self,
        sql: &str,
        values: Values<'_>,
    ) -> Result<u64, tokio_postgres::Error> {
        self.client.execute(&self.prepared(sql).await?, values).await
    }

    /// Runs a statement without preparing it, and returns the first field of its first row.
    pub(super) async fn first_of(
        &self,
        sql: &str,
    ) -> Result<Option<String>, tokio_postgres::Error> {
        let messages = self.client.simple_query(sql).await?;
        Ok(messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        }))
    }

    /// Runs statements without values, of which several may stand in one text.
    pub(super) async fn batch_execute(&self, sql: &str) -> Result<(), tokio_postgres::Error> {
        self.client.batch_execute(sql).await
    }
}

/// Why a use of the connection failed.
pub(super) enum Failed {
    /// The server answered with an error, or the connection broke.
    Server(tokio_postgres::Error),
    /// No answer came in time.
    Late,
    /// The name of the server's machine leads nowhere.
    Nameless(String),
    /// The server must not be used.
    Unfit(String),
}

impl Failed {
    /// Says whether another attempt may go better: the connection broke, or the server starts, stops or has too many connections.
    fn may_pass(&self) -> bool {
        match self {
            // A machine without a network knows no names.
            Self::Late | Self::Nameless(_) => true,
            Self::Unfit(_) => false,
            Self::Server(error) => match error.code() {
                None => !is_refusal(error),
                Some(code) => {
                    ["08", "40", "53", "57", "58"]
                        .iter()
                        .any(|class| code.code().starts_with(class))
                        && *code != SqlState::QUERY_CANCELED
                }
            },
        }
    }

    /// Says whether the server itself answers that it serves nobody now: it starts, stops or recovers. A refused connection says nothing of
    /// that, because a tunnel, a proxy or a firewall refuses too, and one that was ended says it of itself alone.
    fn says_it_is_down(&self) -> bool {
        self.is_any(&[SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW])
    }

    /// Says whether the server answered with one of these errors.
    pub(super) fn is_any(&self, states: &[SqlState]) -> bool {
        matches!(self, Self::Server(error) if error.code().is_some_and(|code| states.contains(code)))
    }

    /// Says whether the server has certainly not done what it was asked.
    pub(super) fn is_refused(&self) -> bool {
        !self.may_pass()
    }
}

/// Says whether an error comes from this side, before anything was sent.
fn is_refusal(error: &tokio_postgres::Error) -> bool {
    let said = error.to_string();
    said.contains("invalid configuration") || said.contains("error performing TLS handshake")
}

impl From<tokio_postgres::Error> for Failed {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Server(error)
    }
}

impl Connection {
    pub(super) fn new(address: &str) -> Result<Self, LogError> {
        let address = Address::parse(address)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| LogError::Unfit {
            server: address.shown.clone(),
            reason: error.to_string(),
        })?;
        let news = Arc::default();
        Ok(Self {
            runtime: Some(runtime),
            address,
            session: None,
            news,
            has_asked: false,
            greeting: None,
        })
    }

    /// Uses the connection until it has an answer, with an error that says what happened to the server.
    #[expect(clippy::needless_pass_by_value, reason = "the callers write closures")]
    pub(super) fn run<T>(
        &mut self,
        until: Instant,
        work: impl AsyncFn(&Session) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, LogError> {
        // The last attempt is cut short, so the one before may say more.
        let mut before = None;
        loop {
            match self.attempt(until, &work) {
                Ok(done) => return Ok(done),
                Err(failed) if failed.is_refused() || Instant::now() + PAUSE >= until => {
                    let told = match failed {
                        Failed::Late => before.unwrap_or(failed),
                        failed => failed,
                    };
                    return Err(self.error(told));
                }
                Err(failed) => {
                    before = Some(failed);
                    self.pause(PAUSE);
                }
            }
        }
    }

    /// Uses the connection once. After a failure the next use opens a new one.
    #[expect(clippy::needless_pass_by_value, reason = "the callers write closures")]
    pub(super) fn attempt<T>(
        &mut self,
        until: Instant,
        work: impl AsyncFn(&Session) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, Failed> {
        let Self { runtime: Some(runtime), address, session, news, has_asked, greeting } = self
        else {
            return Err(Failed::Late);
        };
        *has_asked = false;
        let done = runtime.block_on(async {
            let work = async {
                let usable = match session.take().filter(|session| !session.client.is_closed()) {
                    Some(session) => session,
                    None => connect(&address.config, news, greeting.as_deref()).await?,
                };
                *has_asked = true;
                let done = work(&usable).await;
                if !usable.client.is_closed() {
                    *session = Some(usable);
                }
                Ok::<_, Failed>(done?)
            };
            tokio::time::timeout_at(until.into(), work).await
        });
        done.unwrap_or(Err(Failed::Late))
    }

    /// Says whether the open connection has the turn, or waits for it.
    pub(super) fn is_in_turn(&self) -> bool {
        let open = self.session.as_ref().filter(|session| !session.client.is_closed());
        open.is_some_and(|session| session.is_in_turn.get())
    }

    /// Lets time pass before another attempt.
    pub(super) fn pause(&self, time: Duration) {
        if let Some(runtime) = &self.runtime {
            runtime.block_on(async { tokio::time::sleep(time).await });
        }
    }

    /// Returns once a notification has come, at the latest after a time. Returns what it told.
    pub(super) fn wait_for_news(&mut self, at_most: Duration) -> Option<u64> {
        let Self { runtime: Some(runtime), session, news, .. } = self else { return None };
        if session.as_ref().is_none_or(|session| session.client.is_closed()) {
            runtime.block_on(async { tokio::time::sleep(at_most).await });
            return None;
        }
        let told = async { tokio::time::timeout(at_most, news.has_come.notified()).await };
        runtime.block_on(told).ok()?;
        news.take()
    }

    /// Says why the server, or something on it, must not be used.
    pub(super) fn unfit(&self, reason: String) -> LogError {
        LogError::Unfit { server: self.address.shown.clone(), reason }
    }

    pub(super) fn error(&self, failed: Failed) -> LogError {
        let server = self.address.shown.clone();
        let (is_refused, is_down) = (failed.is_refused(), failed.says_it_is_down());
        let reason = match failed {
            Failed::Server(error) => said(&error),
            Failed::Late => "no answer came in time".to_owned(),
            Failed::Nameless(reason) | Failed::Unfit(reason) => reason,
        };
        if is_refused {
            LogError::Unfit { server, reason }
        } else {
            LogError::Away { server, reason, is_down }
        }
    }
}

impl Drop for Connection {
    /// Ends the runtime without waiting, which a thread of another runtime must not do.
    fn drop(&mut self) {
        self.session = None;
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Opens a connection, and refuses a server that could lose what it has acknowledged.
async fn connect(
    config: &Config,
    news: &Arc<News>,
    greeting: Option<&str>,
) -> Result<Session, Failed> {
    find_by_name(config).await?;
    let client = if config.get_ssl_mode() == SslMode::Disable {
        let (client, connection) = config.connect(NoTls).await?;
        tokio::spawn(serve(connection, Arc::clone(news)));
        client
    } else {
        let connector = encryption::connector().map_err(Failed::Unfit)?;
        let (client, connection) = config.connect(connector).await?;
        tokio::spawn(serve(connection, Arc::clone(news)));
        client
    };
    let row = client.query_one(FITNESS, &[]).await?;
    let version: i32 = row.get(0);
    let is_reader: bool = row.get(1);
    let [fsync, pages, commit, only_reads] =
        [2, 3, 4, 5].map(|column| row.get::<_, String>(column));
    let why = if version < OLDEST_VERSION {
        Some(format!(
            "it has version {}, and 14 is the oldest that may keep a bus",
            version / 10_000
        ))
    } else if is_reader {
        Some("it is a replica, which only reads: name the primary".to_owned())
    } else if only_reads == "on" {
        Some(
            "this role or database only reads (`default_transaction_read_only`), and a bus writes"
                .to_owned(),
        )
    } else if fsync == "off" || pages == "off" {
        Some(
            "it has `fsync` or `full_page_writes` off, so a crash could lose what was acknowledged"
                .to_owned(),
        )
    } else if commit == "off" {
        Some("`synchronous_commit` is off, so a crash could lose what was acknowledged".to_owned())
    } else {
        None
    };
    if let Some(why) = why {
        return Err(Failed::Unfit(why));
    }
    if let Some(greeting) = greeting {
        client.batch_execute(greeting).await?;
    }
    Ok(Session { client, statements: RefCell::default(), is_in_turn: Cell::default() })
}

/// Looks whether the name of the server's machine leads anywhere: by connecting alone, a name that nobody answers for looks like a server
/// that does not answer.
async fn find_by_name(config: &Config) -> Result<(), Failed> {
    let mut unknown = None;
    for host in config.get_hosts() {
        let Host::Tcp(name) = host else { return Ok(()) };
        let found = tokio::net::lookup_host((name.as_str(), 0));
        match tokio::time::timeout(wait_times::SERVER_NAME, found).await {
            Ok(Ok(mut found)) => match found.next() {
                Some(_) => return Ok(()),
                None => unknown = Some(format!("the name {name:?} has no address")),
            },
            Ok(Err(error)) => {
                unknown = Some(format!(
                    "the name {name:?} is not known here ({error}): correct the address, or this machine's network"
                ));
            }
            Err(_) => {
                unknown = Some(format!(
                    "nothing on the network says where {name:?} is: its name server does not answer"
                ));
            }
        }
    }
    unknown.map_or(Ok(()), |reason| Err(Failed::Nameless(reason)))
}

/// Moves what is sent and received, as long as the connection lasts.
async fn serve<S, T>(mut connection: Connected<S, T>, news: Arc<News>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    loop {
        match poll_fn(|context| connection.poll_message(context)).await {
            Some(Ok(AsyncMessage::Notification(told))) => news.note(told.payload()),
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                return tracing::debug!("the connection to the server of the bus: {error}");
            }
            None => return,
        }
    }
}

/// Says what the server said, or what became of the connection.
fn said(error: &tokio_postgres::Error) -> String {
    use std::error::Error as _;
    let said = match (error.as_db_error(), error.source()) {
        (Some(database), _) => database.message().to_owned(),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    };
    match error.code() {
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            return format!(
                "{said}; the owner of the tables gives a role its rights in a team with what `cli-team-bridge bus init --role` prints"
            );
        }
        Some(&SqlState::INVALID_SQL_STATEMENT_NAME | &SqlState::DUPLICATE_PSTATEMENT) => {
            return format!(
                "{said}: a pooler gives each transaction another connection. Name the server itself, or let the pooler keep a connection \
                 for a session, or keep prepared statements (PgBouncer 1.21 or newer)"
            );
        }
        _ => {}
    }
    if said.contains("password missing") {
        return format!(
            "{said}; put it into ~/.pgpass (mode 600), which the programs of agents read too, or into PGPASSWORD"
        );
    }
    said
}
