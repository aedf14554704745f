//! What the statements share: the server's time, numbers, and the channel of a team.

use sha2::{Digest, Sha256};

/// The server's time in milliseconds since 1970.
pub(super) const TIME: &str = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// Returns the channel on which a team's new lines are told. A name of PostgreSQL has at most 63 bytes.
pub(super) fn channel(team: &str) -> String {
    format!("cli_team_bridge_{}", data_encoding::HEXLOWER.encode(&Sha256::digest(team)[..8]))
}

/// Returns the number of a team's advisory lock. Two teams with the same only wait for each other.
pub(super) fn lock_number(team: &str) -> i32 {
    let digest = Sha256::digest(team);
    i32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]])
}

/// PostgreSQL has no unsigned numbers; a seq never reaches the half of them.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
