//! The lease of a host in PostgreSQL, and the news of its team.
//!
//! A lease is a row that beats, and an advisory lock of the connection that beats it. The server frees the lock as soon as it sees that
//! the connection has ended, so a dead host is usually found within seconds. A host behind a pooler that shares connections cannot hold
//! such a lock, and is found dead by its silence alone. Hosts never compare clocks: each watches whether the beats of the others change.

use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use super::server_connection::Connection;
use super::shared_sql::{TIME, channel, unsigned};
use super::team_clock::TeamClock;
use crate::bus::storage::{HostLease, HostLink, LogError, OrderedBy, TeamOfHosts};
use crate::domain::member::{Host, HostId};

/// The leases of the other hosts that are read at once: more than a team has machines.
const MOST_HOSTS: i64 = 256;

pub(super) struct PostgresLink {
    connection: Connection,
    order: OrderedBy,
    clock: TeamClock,
}

impl PostgresLink {
    pub(super) fn of(order: &OrderedBy, clock: TeamClock) -> Result<Self, LogError> {
        let mut connection = Connection::new(&order.server)?;
        connection.greeting = Some(format!("LISTEN \"{}\"", channel(&order.team)));
        Ok(Self { connection, order: order.clone(), clock })
    }

    /// Returns the number of the lock of a host.
    fn lock_of(&self, host: HostId) -> i64 {
        let mut digest = Sha256::new();
        digest.update(self.order.epoch.as_bytes());
        digest.update(host.0.as_bytes());
        let bytes: [u8; 8] = std::array::from_fn(|at| digest.clone().finalize()[at]);
        i64::from_be_bytes(bytes)
    }
}

impl HostLink for PostgresLink {
    fn beat(&mut self, host: &Host, until: Instant) -> Result<TeamOfHosts, LogError> {
        let lock = self.lock_of(host.id);
        let team = &self.order.team;
        let held = "EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted
                    AND ((classid::bigint << 32) | objid::bigint)";
        let beat = format!(
            "WITH mine AS (
                 INSERT INTO cli_team_bridge.lease AS lease (team, host, name, lock, has_lock, beat)
                 VALUES ($1, $2, $3, $4, false, 1)
                 ON CONFLICT (team, host) DO UPDATE
                 SET beat = lease.beat + 1, at = clock_timestamp(), has_lock = {held} = $4)
                 WHERE NOT lease.is_buried RETURNING 1
             )
             SELECT head.next_seq, {TIME}, EXISTS (SELECT FROM mine), {held} = $4)
             FROM cli_team_bridge.head WHERE team = $1"
        );
        // The silence of all counts from the start of the server on.
        let others = format!(
            "SELECT host, name, beat, is_buried, has_lock, {held} = lease.lock),
                    (extract(epoch FROM clock_timestamp() - greatest(at, pg_postmaster_start_time())) * 1000)::bigint
             FROM cli_team_bridge.lease
             WHERE team = $1 AND host <> $2 ORDER BY is_buried, host LIMIT $3"
        );
        let forget = "DELETE FROM cli_team_bridge.lease
                      WHERE team = $1 AND is_buried AND at < clock_timestamp() - interval '1 day'";
        let (row, rows) = self.connection.run(until, async |client| {
            let row = client.query_one(&beat, &[team, &host.id.0, &host.name, &lock]).await?;
            if !row.get::<_, bool>(3) {
                client.query_one("SELECT pg_try_advisory_lock($1)", &[&lock]).await?;
                client.execute(forget, &[team]).await?;
            }
            let rows = client.query(&others, &[team, &host.id.0, &MOST_HOSTS]).await?;
            Ok((row, rows))
        })?;
        self.clock.note(row.get(1));
        let lease = |row: &tokio_postgres::Row| HostLease {
            host: Host { id: HostId(row.get(0)), name: row.get(1) },
            beat: row.get(2),
            is_buried: row.get(3),
            is_connected: row.get::<_, bool>(4).then(|| row.get(5)),
            silent: Duration::from_millis(unsigned(row.get(6))),
        };
        Ok(TeamOfHosts {
            next_seq: unsigned(row.get(0)),
            is_buried: !row.get::<_, bool>(2),
            others: rows.iter().map(lease).collect(),
        })
    }

    fn next_seq(&mut self, until: Instant) -> Result<u64, LogError> {
        let select = format!("SELECT next_seq, {TIME} FROM cli_team_bridge.head WHERE team = $1");
        let team = &self.order.team;
        let row =
            self.connection.run(until, async |client| client.query_one(&select, &[team]).await)?;
        self.clock.note(row.get(1));
        Ok(unsigned(row.get(0)))
    }

    fn bury(&mut self, host: HostId, beat: i64, until: Instant) -> Result<bool, LogError> {
        let update = "UPDATE cli_team_bridge.lease SET is_buried = true
                      WHERE team = $1 AND host = $2 AND (beat = $3 OR is_buried)";
        let team = &self.order.team;
        let buried = self
            .connection
            .run(until, async |client| client.execute(update, &[team, &host.0, &beat]).await)?;
        Ok(buried > 0)
    }

    fn leave(&mut self, host: HostId, until: Instant) -> Result<(), LogError> {
        let delete = "DELETE FROM cli_team_bridge.lease WHERE team = $1 AND host = $2";
        let team = &self.order.team;
        self.connection
            .run(until, async |client| client.execute(delete, &[team, &host.0]).await.map(drop))
    }

    fn wait_for_news(&mut self, at_most: Duration) -> Option<u64> {
        self.connection.wait_for_news(at_most)
    }
}
