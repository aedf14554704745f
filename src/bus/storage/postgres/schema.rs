//! The tables, by versions: each migration is one step, done once under a lock. And what stands in them about a team.

use std::time::{Duration, Instant};

use uuid::Uuid;

use super::server_address::Address;
use super::server_connection::Connection;
use super::shared_sql::{TIME, unsigned};
use crate::bus::storage::{LogError, OrderedBy};
use crate::domain::text::counted::counted;

/// The steps from an empty database to the tables of this version. A step that was released never changes.
const STEPS: [&str; 1] = ["
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
"];

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
    let is_known = connection.run(until, async |client| {
        client.batch_execute(&format!("SELECT pg_advisory_lock({LOCK})")).await?;
        let row = client
            .query_one("SELECT to_regclass('cli_team_bridge.version') IS NOT NULL", &[])
            .await?;
        if !row.get::<_, bool>(0) {
            client
                .batch_execute(
                    "CREATE SCHEMA IF NOT EXISTS cli_team_bridge;
                     CREATE TABLE cli_team_bridge.version (version integer NOT NULL);",
                )
                .await?;
        }
        let row = client
            .query_one("SELECT coalesce(max(version), 0) FROM cli_team_bridge.version", &[])
            .await?;
        let version = usize::try_from(row.get::<_, i32>(0)).unwrap_or(0);
        if version > STEPS.len() {
            client.batch_execute(&format!("SELECT pg_advisory_unlock({LOCK})")).await?;
            return Ok(false);
        }
        for (number, step) in STEPS.iter().enumerate().skip(version) {
            let version = number + 1;
            client
                .batch_execute(&format!(
                    "BEGIN; {step}
                     INSERT INTO cli_team_bridge.version VALUES ({version});
                     COMMIT;"
                ))
                .await?;
        }
        client.batch_execute(&format!("SELECT pg_advisory_unlock({LOCK})")).await?;
        Ok(true)
    })?;
    if !is_known {
        let reason = "a newer cli-team-bridge has made its tables: update this one".to_owned();
        return Err(LogError::Unfit { server: Address::parse(server)?.shown, reason });
    }
    let epoch: Uuid = connection.run(until, async |client| {
        let insert = "INSERT INTO cli_team_bridge.head (team) VALUES ($1) ON CONFLICT DO NOTHING";
        client.execute(insert, &[&team]).await?;
        let select = "SELECT epoch FROM cli_team_bridge.head WHERE team = $1";
        Ok(client.query_one(select, &[&team]).await?.get(0))
    })?;
    Ok(OrderedBy { server: server.to_owned(), team: team.to_owned(), epoch })
}

/// Asks a server about itself and a team.
pub fn inspect(order: &OrderedBy, until: Instant) -> Result<ServerReport, LogError> {
    let mut connection = Connection::new(&order.server)?;
    let (team, epoch) = (&order.team, &order.epoch);
    connection.run(until, async |client| {
        let begun = Instant::now();
        client.query_one(&format!("SELECT {TIME}"), &[]).await?;
        let round_trip = begun.elapsed();
        let settings = "SELECT current_setting('server_version'), current_setting('synchronous_commit')";
        let settings = client.query_one(settings, &[]).await?;
        let head = "SELECT next_seq - 1 FROM cli_team_bridge.head WHERE team = $1 AND epoch = $2";
        let head = client.query_opt(head, &[team, epoch]).await?;
        let hosts = "SELECT name FROM cli_team_bridge.lease WHERE team = $1 AND NOT is_buried ORDER BY name";
        let hosts = client.query(hosts, &[team]).await?;
        Ok(ServerReport {
            server: Address::parse(&order.server).map(|address| address.shown).unwrap_or_default(),
            version: settings.get(0),
            round_trip,
            synchronous_commit: settings.get(1),
            last_seq: head.map(|row| unsigned(row.get(0))),
            hosts: hosts.iter().map(|row| row.get(0)).collect(),
        })
    })
}
