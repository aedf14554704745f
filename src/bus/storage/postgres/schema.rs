//! The tables, by versions: each migration is one step, done once under a lock.

use std::time::Instant;

use super::connection::Connection;
use crate::bus::storage::LogError;

/// The steps from an empty database to the tables of this version. A step that was released never changes.
const STEPS: [&str; 1] = ["
CREATE TABLE cli_team_bridge.head (
    team text PRIMARY KEY,
    next_seq bigint NOT NULL DEFAULT 1,
    made_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE cli_team_bridge.log (
    team text NOT NULL REFERENCES cli_team_bridge.head ON DELETE CASCADE,
    seq bigint NOT NULL,
    command uuid NOT NULL,
    line bytea NOT NULL,
    texts uuid[] NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (team, seq),
    UNIQUE (team, command)
);
CREATE TABLE cli_team_bridge.text (
    team text NOT NULL REFERENCES cli_team_bridge.head ON DELETE CASCADE,
    id uuid NOT NULL,
    text bytea NOT NULL,
    PRIMARY KEY (team, id)
);
"];

/// The advisory lock that one migration at a time holds: the beginning of `cli-team-bridge` as a number.
const LOCK: i64 = 0x636c_692d_7465_616d;

/// Makes the tables, or brings them to this version.
pub fn create(address: &str, until: Instant) -> Result<(), LogError> {
    let mut connection = Connection::new(address)?;
    connection.run(until, async |client| {
        client
            .batch_execute(&format!(
                "SELECT pg_advisory_lock({LOCK});
                 CREATE SCHEMA IF NOT EXISTS cli_team_bridge;
                 CREATE TABLE IF NOT EXISTS cli_team_bridge.version (version integer NOT NULL);"
            ))
            .await?;
        let row = client
            .query_one("SELECT coalesce(max(version), 0) FROM cli_team_bridge.version", &[])
            .await?;
        let version = usize::try_from(row.get::<_, i32>(0)).unwrap_or(0);
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
        client.batch_execute(&format!("SELECT pg_advisory_unlock({LOCK})")).await
    })
}
