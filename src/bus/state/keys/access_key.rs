//! A valid key for the HTTP API.

use serde::{Deserialize, Serialize};

use crate::domain::access_key::{KeyHash, KeyScope};
use crate::domain::member::{Label, Traits};
use crate::domain::name::Name;

/// A key for the HTTP API. Its secret is stored nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessKey {
    /// The member that its bearer is.
    pub name: Name,
    pub scopes: Vec<KeyScope>,
    pub hash: KeyHash,
    /// What that member is in its team.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<Label>,
    #[serde(default, skip_serializing_if = "Traits::are_none")]
    pub traits: Traits,
    /// When it was made, in wall time.
    pub made_ms: i64,
}

impl AccessKey {
    /// Says whether the key allows something.
    pub fn allows(&self, scope: KeyScope) -> bool {
        self.scopes.contains(&scope)
    }
}
