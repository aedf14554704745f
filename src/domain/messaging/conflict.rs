//! A disagreement in a thread: who has to speak, and how it ends.

use serde::{Deserialize, Serialize};

use crate::domain::name::Name;

/// Who has to speak in a disagreement that is not over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictStep {
    /// Both parties, in this round: the first is 1.
    Round(u32),
    /// A member that is no party: its decision binds.
    Arbiter(Name),
    /// The person whom the team works for.
    Human,
}

/// How a disagreement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictEnd {
    /// One party took the position of the other.
    Agreed,
    /// Somebody who was asked has decided it.
    Decided,
    /// Nobody decided it in time.
    Lapsed,
}

impl ConflictStep {
    /// Returns the word that tools and windows show.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Round(_) => "negotiation",
            Self::Arbiter(_) => "arbitration",
            Self::Human => "human",
        }
    }
}

impl ConflictEnd {
    /// Returns the word that tools and windows show.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agreed => "agreed",
            Self::Decided => "decided",
            Self::Lapsed => "lapsed",
        }
    }
}
