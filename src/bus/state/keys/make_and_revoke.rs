//! How the events of keys change the state, and how a key is found by the hash of its secret.

use crate::bus::event::Event;
use crate::bus::state::event_place::At;
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

    pub(in crate::bus::state) fn key_event(&mut self, event: &Event, at: &At) {
        match event {
            Event::KeyMade { id, name, scopes, hash, roles, traits, .. } => {
                let key = AccessKey {
                    name: name.clone(),
                    scopes: scopes.clone(),
                    hash: hash.clone(),
                    roles: roles.clone(),
                    traits: traits.clone(),
                    made_ms: at.ts,
                };
                self.keys.entry(id.clone()).or_insert(key);
            }
            Event::KeyRevoked { id, .. } => drop(self.keys.remove(id)),
            _ => {}
        }
    }
}
