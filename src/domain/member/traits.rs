//! What a member says of itself, so that others find it by more than its name.

use serde::{Deserialize, Serialize};

use super::Label;

/// What a member says of itself beside its name, its kind and its roles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traits {
    /// The part of the work that it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<Label>,
    /// What it can do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<Label>,
    /// What it wants to hear of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub topics: Vec<Label>,
    /// The program in which its model works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surface: Option<Label>,
}

impl Traits {
    /// Says whether there are none.
    pub fn are_none(&self) -> bool {
        *self == Self::default()
    }
}
