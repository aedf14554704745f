//! What the recipient of a message says has become of it. It never takes that back.

use serde::{Deserialize, Serialize};

/// What a recipient says of a message that it has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Acknowledgement {
    /// It knows of it.
    Acked,
    /// It has dealt with it.
    Resolved,
    /// Nothing is left to deal with, as something else has taken its place.
    Superseded,
}

impl Acknowledgement {
    /// Says whether a message goes forward from another acknowledgement to this one. The two last ones are equally far.
    pub fn is_beyond(self, before: Self) -> bool {
        before == Self::Acked && self != Self::Acked
    }

    /// Returns the word that tools take and show.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Acked => "acked",
            Self::Resolved => "resolved",
            Self::Superseded => "superseded",
        }
    }
}
