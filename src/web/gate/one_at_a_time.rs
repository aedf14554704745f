//! Expensive reads, one at a time of each key: what a program could ask for as often as it likes must not keep the bus from others.

use std::sync::{Arc, Mutex};

use crate::domain::access_key::KeyHash;
use crate::sys::mutex::lock;

/// The keys of which an expensive read goes on.
#[derive(Default)]
pub(in crate::web) struct OneAtATime(Arc<Mutex<Vec<KeyHash>>>);

/// An expensive read, as long as this lives.
pub(in crate::web) struct ExpensiveRead {
    hash: KeyHash,
    going: Arc<Mutex<Vec<KeyHash>>>,
}

impl OneAtATime {
    /// Begins one; none if another of the key goes on.
    pub(in crate::web) fn begin(&self, hash: &KeyHash) -> Option<ExpensiveRead> {
        let mut going = lock(&self.0);
        if going.contains(hash) {
            return None;
        }
        going.push(hash.clone());
        Some(ExpensiveRead { hash: hash.clone(), going: Arc::clone(&self.0) })
    }
}

impl Drop for ExpensiveRead {
    fn drop(&mut self) {
        lock(&self.going).retain(|going| *going != self.hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::access_key::hash_of_secret;

    #[test]
    fn a_key_has_one_expensive_read_and_others_have_theirs() {
        let hash = |digit: &str| hash_of_secret(&format!("ctb_{}", digit.repeat(64))).unwrap();
        let (reads, one, other) = (OneAtATime::default(), hash("0"), hash("1"));
        let first = reads.begin(&one);
        assert!(first.is_some() && reads.begin(&one).is_none());
        assert!(reads.begin(&other).is_some());
        drop(first);
        assert!(reads.begin(&one).is_some());
    }
}
