//! PostgreSQL as the sequencer of a bus that several machines share.
//!
//! One row a line, under the seq of its first event; the row of the team's head is compared and moved in the same statement, so the order
//! of the seqs is the order of the commits, without holes. A sequence would give numbers that become visible in another order.

mod address;
mod connection;
mod host_link;
mod line_order;
mod schema;
mod team_clock;
#[cfg(test)]
pub(crate) mod test_server;
#[cfg(test)]
mod tests;

use sha2::{Digest, Sha256};

pub use self::line_order::PostgresOrder;
pub use self::schema::{ServerReport, inspect, make_team};

/// Returns the channel on which a team's new lines are told. A name of PostgreSQL has at most 63 bytes.
fn channel(team: &str) -> String {
    let digest = Sha256::digest(team.as_bytes());
    format!("cli_team_bridge_{}", data_encoding::HEXLOWER.encode(&digest[..8]))
}
