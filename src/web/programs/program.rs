//! A program that asks the API, by its key.

use crate::domain::access_key::{KeyHash, KeyScope};
use crate::domain::name::Name;

/// A program with a key that was valid when it asked.
#[derive(Clone, Debug)]
pub(in crate::web) struct Program {
    /// The member that it is.
    pub(in crate::web) name: Name,
    pub(in crate::web) scopes: Vec<KeyScope>,
    /// Of its key's secret.
    pub(in crate::web) hash: KeyHash,
}

impl Program {
    /// Says whether it may do such things.
    pub(in crate::web) fn may(&self, scope: KeyScope) -> bool {
        self.scopes.contains(&scope)
    }
}
