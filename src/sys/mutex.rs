//! Locks that survive a panic.
//!
//! A panic ends one tool, one agent or one watcher, and never the process. What it left in a mutex is used on: every state behind a
//! mutex here is changed by single assignments and calls that do not panic halfway, so it is whole at any time. A lock that stayed
//! poisoned would spread the panic to everything that shares the state.

use std::sync::{LockResult, Mutex, MutexGuard, PoisonError};

/// Locks a mutex, whether or not a thread has panicked while it held it.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    unpoisoned(mutex.lock())
}

/// Returns what was locked, whether or not a thread has panicked while it held the lock.
pub fn unpoisoned<T>(locked: LockResult<T>) -> T {
    locked.unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutex_is_locked_after_a_panic_of_its_holder() {
        let mutex = Mutex::new(1);
        let panicked = std::panic::catch_unwind(|| {
            let mut held = lock(&mutex);
            *held = 2;
            panic!("while it is held");
        });
        assert!(panicked.is_err() && mutex.is_poisoned());
        assert_eq!(*lock(&mutex), 2);
    }
}
