//! The tables, by versions: each migration is one step, done once under a lock. And what stands in them about a team.

use std::time::{Duration, Instant};

use uuid::Uuid;

use super::role_grants::LACKING;
use super::server_address::Address;
use super::server_connection::{Connection, Session};
use super::shared_sql::{TIME, unsigned};
use crate::bus::storage::{LogError, OrderedBy};
use crate::domain::text::counted::counted;

/// The steps from an empty database to the tables of this version. A step that was released never changes.
const STEPS: [&str; 2] = [
    "
CREATE TABLE cli_team_bridge.head (
    team text PRIMARY KEY,
    epoch uuid NOT NULL DEFAULT gen_random_uuid(),
    next_seq bigint NOT NULL DEFAULT 1,
    last_command uuid,
    made_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);
CREATE TABLE cli_team_bridge.log (
    team text NOT NULL,
    seq bigint NOT NULL,
    command uuid NOT NULL,
    line bytea NOT NULL,
    texts uuid[] NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (team, seq),
    UNIQUE (team, command)
);
CREATE TABLE cli_team_bridge.text (
    team text NOT NULL,
    id uuid NOT NULL,
    text bytea NOT NULL,
    PRIMARY KEY (team, id)
);
CREATE TABLE cli_team_bridge.lease (
    team text NOT NULL,
    host uuid NOT NULL,
    name text NOT NULL,
    lock bigint NOT NULL,
    has_lock boolean NOT NULL,
    beat bigint NOT NULL,
    is_buried boolean NOT NULL DEFAULT false,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (team, host)
);
",
    // The teams into which a bus in files is being copied, and those that were copied into files and have ended here.
    "
CREATE TABLE cli_team_bridge.incoming (
    team text PRIMARY KEY,
    epoch uuid NOT NULL DEFAULT gen_random_uuid(),
    bus uuid NOT NULL,
    host text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE cli_team_bridge.outgone (
    team text PRIMARY KEY,
    epoch uuid NOT NULL,
    host text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);
",
];

/// The advisory lock that one migration at a time holds: the beginning of `cli-team-bridge` as a number.
const LOCK: i64 = 0x636c_692d_7465_616d;

/// What a server says of itself and of a team.
#[derive(Clone, Debug)]
pub struct ServerReport {
    /// The server, as people are told of it.
    pub server: String,
    pub version: String,
    /// The time of one round trip.
    pub round_trip: Duration,
    pub synchronous_commit: String,
    /// The number of the newest event; none if the team is another one by now.
    pub last_seq: Option<u64>,
    /// The names of the hosts with a lease.
    pub hosts: Vec<String>,
    /// The rights that this role lacks.
    pub lacking: Vec<String>,
    /// Whether this role sees only the rows of some teams.
    pub sees_some_teams: bool,
}

impl ServerReport {
    /// Says what this machine knows and the server does not have; none if it has all.
    pub fn lost(&self, here: u64) -> Option<String> {
        match self.last_seq {
            Some(there) if there >= here => None,
            Some(there) => Some(format!(
                "it has {}, and this machine knows {here}: it was restored from a backup, or has lost the rest",
                counted(there, "event")
            )),
            None if self.sees_some_teams => Some(
                "it does not have the team that this machine knows, or does not show it to this role".to_owned(),
            ),
            None => Some("it does not have the team that this machine knows".to_owned()),
        }
    }
}

/// What helps a machine that knows more than its server.
pub const KEEP_AND_BEGIN: &str = "end the sessions of this machine, move `.claude/bridge` aside, which keeps what only it knows, and run \
                                  `cli-team-bridge bus init` again";

/// Makes the tables, or brings them to this version, and the team, unless it is there.
pub fn make_team(server: &str, team: &str, until: Instant) -> Result<OrderedBy, LogError> {
    let mut connection = Connection::new(server)?;
    make_tables(&mut connection, until)?;
    let made = connection
        .run(until, async |client| alone(client, async || join_team(client, team).await).await)?;
    let epoch = made.map_err(|reason| connection.unfit(reason))?;
    Ok(OrderedBy { server: server.to_owned(), team: team.to_owned(), epoch })
}

/// Returns the id of a team, which is made unless it is there, or why nobody may join it. The caller holds the lock.
async fn join_team(
    client: &Session,
    team: &str,
) -> Result<Result<Uuid, String>, tokio_postgres::Error> {
    let incoming = "SELECT host FROM cli_team_bridge.incoming WHERE team = $1";
    if let Some(row) = client.query_opt(incoming, &[&team]).await? {
        let host: String = row.get(0);
        return Ok(Err(format!(
            "the machine {host:?} is copying a bus into the team {team:?}, or was interrupted: the same `bus copy` there ends that"
        )));
    }
    let outgone = "SELECT host FROM cli_team_bridge.outgone WHERE team = $1";
    if let Some(row) = client.query_opt(outgone, &[&team]).await? {
        let host: String = row.get(0);
        return Ok(Err(format!(
            "the team {team:?} was copied into files on the machine {host:?}, and has ended here: choose another name with `--team`"
        )));
    }
    let insert = "INSERT INTO cli_team_bridge.head (team) VALUES ($1) ON CONFLICT DO NOTHING";
    let select = "SELECT epoch FROM cli_team_bridge.head WHERE team = $1";
    if let Some(row) = client.query_opt(select, &[&team]).await? {
        return Ok(Ok(row.get(0)));
    }
    client.execute(insert, &[&team]).await?;
    Ok(Ok(client.query_one(select, &[&team]).await?.get(0)))
}

/// Does something in a transaction, while nobody else makes tables or teams. The lock ends with the transaction, so this works behind a
/// pooler, too.
pub(super) async fn alone<T>(
    client: &Session,
    work: impl AsyncFnOnce() -> Result<T, tokio_postgres::Error>,
) -> Result<T, tokio_postgres::Error> {
    client.batch_execute(&format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK})")).await?;
    let done = work().await;
    // After an error the connection may be gone, and that error says more.
    let ended = client.batch_execute(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).await;
    let done = done?;
    ended.map(|()| done)
}

/// Makes the tables, or brings them to this version.
pub(super) fn make_tables(connection: &mut Connection, until: Instant) -> Result<(), LogError> {
    let is_known = connection.run(until, async |client| {
        alone(client, async || bring_to_this_version(client).await).await
    })?;
    if is_known {
        return Ok(());
    }
    let reason = "a newer cli-team-bridge has made its tables: update this one";
    Err(connection.unfit(reason.to_owned()))
}

/// Says whether the tables are of this version now; otherwise they are of a newer one. The caller holds the lock.
async fn bring_to_this_version(client: &Session) -> Result<bool, tokio_postgres::Error> {
    let is_made = "SELECT to_regclass('cli_team_bridge.version') IS NOT NULL";
    if !client.query_one(is_made, &[]).await?.get::<_, bool>(0) {
        client
            .batch_execute(
                "CREATE SCHEMA IF NOT EXISTS cli_team_bridge;
                 CREATE TABLE cli_team_bridge.version (version integer NOT NULL);",
            )
            .await?;
    }
    let newest = "SELECT coalesce(max(version), 0) FROM cli_team_bridge.version";
    let version = client.query_one(newest, &[]).await?;
    let version = usize::try_from(version.get::<_, i32>(0)).unwrap_or(0);
    for (number, step) in STEPS.iter().enumerate().skip(version) {
        let version = number + 1;
        client
            .batch_execute(&format!(
                "{step}
                 INSERT INTO cli_team_bridge.version VALUES ({version});"
            ))
            .await?;
    }
    Ok(version <= STEPS.len())
}

/// Asks a server about itself and a team.
pub fn inspect(order: &OrderedBy, until: Instant) -> Result<ServerReport, LogError> {
    let mut connection = Connection::new(&order.server)?;
    let (team, epoch) = (&order.team, &order.epoch);
    let (report, copied_to) = connection.run(until, async |client| {
        let begun = Instant::now();
        client.query_one(&format!("SELECT {TIME}"), &[]).await?;
        let round_trip = begun.elapsed();
        let settings = "SELECT current_setting('server_version'), current_setting('synchronous_commit')";
        let settings = client.query_one(settings, &[]).await?;
        let usable = "SELECT coalesce(has_schema_privilege(oid, 'USAGE'), false) FROM pg_namespace
                      WHERE nspname = 'cli_team_bridge'";
        let is_usable =
            client.query_opt(usable, &[]).await?.is_some_and(|row| row.get::<_, bool>(0));
        let lacking: Vec<String> = if is_usable {
            client.query_one(LACKING, &[]).await?.get(0)
        } else {
            vec!["USAGE on the schema cli_team_bridge".to_owned()]
        };
        let (mut last_seq, mut hosts, mut sees_some_teams) = (None, Vec::new(), false);
        let mut copied_to: Option<String> = None;
        if !lacking.iter().any(|right| right.starts_with("USAGE") || right.starts_with("SELECT")) {
            let head = "SELECT next_seq - 1 FROM cli_team_bridge.head WHERE team = $1 AND epoch = $2";
            last_seq =
                client.query_opt(head, &[team, epoch]).await?.map(|row| unsigned(row.get(0)));
            let names = "SELECT name FROM cli_team_bridge.lease WHERE team = $1 AND NOT is_buried ORDER BY name";
            hosts = client.query(names, &[team]).await?.iter().map(|row| row.get(0)).collect();
            let active = "SELECT row_security_active('cli_team_bridge.head')";
            sees_some_teams = client.query_one(active, &[]).await?.get(0);
            // Tables of an older version know nothing of teams that have ended.
            let ends = "SELECT to_regclass('cli_team_bridge.outgone') IS NOT NULL";
            if last_seq.is_none() && client.query_one(ends, &[]).await?.get(0) {
                let ended = "SELECT host FROM cli_team_bridge.outgone WHERE team = $1 AND epoch = $2";
                copied_to = client.query_opt(ended, &[team, epoch]).await?.map(|row| row.get(0));
            }
        }
        let report = ServerReport {
            server: Address::parse(&order.server).map(|address| address.shown).unwrap_or_default(),
            version: settings.get(0),
            round_trip,
            synchronous_commit: settings.get(1),
            last_seq,
            hosts,
            lacking,
            sees_some_teams,
        };
        Ok((report, copied_to))
    })?;
    match copied_to {
        Some(host) => Err(LogError::CopiedAway { team: team.clone(), host }),
        None => Ok(report),
    }
}
