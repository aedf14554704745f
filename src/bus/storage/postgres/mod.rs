//! PostgreSQL as the sequencer of a bus that several machines share.
//!
//! One row a line, under the seq of its first event; the row of the team's head is compared and moved in the same statement, so the order
//! of the seqs is the order of the commits, without holes. A sequence would give numbers that become visible in another order.

mod encryption;
mod host_link;
mod line_order;
mod pooler_probe;
mod role_grants;
mod schema;
mod server_address;
mod server_connection;
mod shared_sql;
mod team_clock;
mod team_transfer;
#[cfg(test)]
pub(crate) mod test_server;
#[cfg(test)]
mod tests;

pub use self::line_order::PostgresOrder;
pub use self::pooler_probe::shares_connections;
pub use self::role_grants::role_grants;
pub use self::schema::{KEEP_AND_BEGIN, ServerReport, inspect, make_team};
pub use self::team_transfer::{CopiedLine, IncomingTeam, Leaving, close_team, each_line_of};
