//! Finds out whether a pooler stands before a server that gives each transaction another connection: then nothing that belongs to a
//! connection lasts, such as what it listens for.

use std::time::{Duration, Instant};

use super::server_connection::Connection;
use crate::bus::storage::LogError;

/// How long the first connection waits for its turn, while the second keeps its transaction.
const TURN: Duration = Duration::from_secs(1);

/// Says whether connections are shared. A pooler gives the second of two connections what the first has just left; what the first has
/// set there is then gone for it.
pub fn shares_connections(server: &str, until: Instant) -> Result<bool, LogError> {
    let (mut first, mut second) = (Connection::new(server)?, Connection::new(server)?);
    let set = "SELECT set_config('cli_team_bridge.probe', 'here', false)";
    let get = "SELECT current_setting('cli_team_bridge.probe', true) = 'here'";
    // A pooler may not know the names of prepared statements, so nothing is prepared.
    first.run(until, async |client| client.first_of(set).await)?;
    second.run(until, async |client| client.batch_execute("BEGIN; SELECT 1").await)?;
    let begun = Instant::now();
    let kept = first.attempt(until.min(begun + TURN), async |client| client.first_of(get).await);
    match kept {
        Ok(kept) => Ok(kept.as_deref() != Some("t")),
        // There is one connection for both.
        Err(_) if begun.elapsed() >= TURN => Ok(true),
        Err(failed) => Err(first.error(failed)),
    }
}
