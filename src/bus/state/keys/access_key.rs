//! A valid key for the HTTP API.

use serde::{Deserialize, Serialize};

use crate::domain::access_key::{KeyHash, KeyScope};
use crate::domain::name::Name;

/// A key for the HTTP API. Its secret is stored nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessKey {
    /// The member that its bearer is.
    pub name: Name,
    pub scopes: Vec<KeyScope>,
    pub hash: KeyHash,
    /// When it was made, in wall time.
    pub made_ms: i64,
}

impl AccessKey {
    /// Says whether the key allows something.
    pub fn allows(&self, scope: KeyScope) -> bool {
        self.scopes.contains(&scope)
    }
}
