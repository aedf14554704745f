//! Locks that survive a panic.
//!
//! A panic ends one tool, one agent or one watcher, and never the process. The state in its mutexes stays in use: all changes of such
//! state are single assignments and calls that do not panic halfway, so it is always consistent. A poisoned lock would spread the panic
//! to all code that shares the state.

use std::sync::{LockResult, Mutex, MutexGuard, PoisonError};

/// Locks a mutex, even after a panic of its holder.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    unpoisoned(mutex.lock())
}

/// Returns the guard of a lock, even after a panic of its holder.
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
