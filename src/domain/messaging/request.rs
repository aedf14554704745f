//! Requests: offered work and its one owner.

use serde::{Deserialize, Serialize};

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestStatus {
    /// Anyone but its author may claim it.
    Open,
    /// One session holds it.
    Claimed,
    /// Its owner has answered.
    Completed,
    /// Nobody answered in time, or its author has gone.
    Expired,
}

impl RequestStatus {
    /// Returns the word that tools show.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Claimed => "claimed",
            Self::Completed => "completed",
            Self::Expired => "expired",
        }
    }

    /// Says whether nothing more will happen to the request.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Expired)
    }
}
