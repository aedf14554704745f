//! The mark of events that older versions may skip.

use serde::{Deserialize, Serialize};

/// Marks an event that versions without its kind may skip: `true` in its body.
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
