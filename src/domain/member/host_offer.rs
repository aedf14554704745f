//! What a host offers to its team: to start agents on its machine for others.

use serde::{Deserialize, Serialize};

use super::Host;
use crate::domain::name::Name;

/// The word for whoever belongs to the team, in place of the names of machines.
pub const ALL_MACHINES: &str = "all";

/// The offer of one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostOffer {
    /// The profiles whose agents it starts.
    pub profiles: Vec<Name>,
    /// For whom: the names of machines, or [`ALL_MACHINES`].
    #[serde(rename = "for")]
    pub whom: Vec<String>,
}

impl HostOffer {
    /// Says whether it is for the members of a machine; of none on a bus that one machine has for itself.
    pub fn is_for(&self, machine: Option<&Host>) -> bool {
        let is_meant = |word: &String| {
            word == ALL_MACHINES || machine.is_some_and(|machine| machine.is_called(word))
        };
        self.whom.iter().any(is_meant)
    }

    pub fn has(&self, profile: &str) -> bool {
        self.profiles.iter().any(|offered| offered.as_str() == profile)
    }
}
