//! The mark of events that older versions may pass over.

use serde::{Deserialize, Serialize};

/// Says of an event that versions which do not know it may pass over it: `true` in its body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "bool", from = "bool")]
pub struct Skip;

impl From<Skip> for bool {
    fn from(_: Skip) -> Self {
        true
    }
}

impl From<bool> for Skip {
    fn from(_: bool) -> Self {
        Self
    }
}
