//! Requests: offered work and its one owner.

use serde::{Deserialize, Serialize};

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestStatus {
    /// Any member but its author may claim it.
    Open,
    /// One session holds it.
    Claimed,
    /// Its owner has answered.
    Completed,
    /// No answer came in time, or its author has left.
    Expired,
    /// Its owner gave it up, or too many owners were lost.
    Failed,
}

impl RequestStatus {
    /// Returns the word that tools show.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Claimed => "claimed",
            Self::Completed => "completed",
            Self::Expired => "expired",
            Self::Failed => "failed",
        }
    }

    /// Says whether the status of the request can no longer change.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Expired | Self::Failed)
    }
}
