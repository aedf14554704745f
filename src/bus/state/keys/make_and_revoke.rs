//! How the events of keys change the state, and how a key is found by the hash of its secret.

use crate::bus::state::{AccessKey, State};
use crate::domain::access_key::KeyHash;
use crate::domain::ids::KeyId;

impl State {
    /// Returns the valid keys, oldest first.
    pub fn keys(&self) -> Vec<(&KeyId, &AccessKey)> {
        let mut keys: Vec<_> = self.keys.iter().collect();
        keys.sort_by_key(|(id, key)| (key.made_ms, *id));
        keys
    }

    /// Returns the valid key whose secret has this hash. It compares with all of them, so the time it takes does not tell which one
    /// it is.
    pub fn key_of(&self, hash: &KeyHash) -> Option<(&KeyId, &AccessKey)> {
        let mut found = None;
        for (id, key) in &self.keys {
            if key.hash == *hash {
                found = Some((id, key));
            }
        }
        found
    }

    pub(in crate::bus::state) fn key_made(&mut self, id: &KeyId, key: AccessKey) {
        self.keys.entry(id.clone()).or_insert(key);
    }

    pub(in crate::bus::state) fn key_revoked(&mut self, id: &KeyId) {
        self.keys.remove(id);
    }
}
