//! The keys of the API that were valid before, so that whoever makes one up does not count as a program.

use std::sync::Mutex;

use crate::domain::access_key::KeyHash;
use crate::domain::limits;
use crate::sys::mutex::lock;

/// The keys that were valid when a program asked with them.
#[derive(Default)]
pub(in crate::web) struct KnownKeys(Mutex<Vec<KeyHash>>);

impl KnownKeys {
    /// Notes a valid key.
    pub(in crate::web) fn note(&self, hash: &KeyHash) {
        let mut known = lock(&self.0);
        if known.contains(hash) {
            return;
        }
        // Revoked ones make place.
        if known.len() >= limits::MAX_KEYS {
            known.clear();
        }
        known.push(hash.clone());
    }

    pub(in crate::web) fn has(&self, hash: &KeyHash) -> bool {
        lock(&self.0).contains(hash)
    }
}
