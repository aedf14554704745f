//! What has become of the answer of a call: only one that its client has can be proven to have been read.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The answer of one call. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    fate: Arc<Mutex<Fate>>,
}

#[derive(Clone, Copy, Debug, Default)]
enum Fate {
    /// It is not written, or not whole.
    #[default]
    OnItsWay,
    /// The client has it, and had said so many bytes by then.
    Given { said: u64 },
    /// The client has taken its question back.
    Unwanted,
}

impl Answer {
    /// Returns an answer that is given as soon as there is one: to a caller in this process.
    pub fn given() -> Self {
        let answer = Self::default();
        answer.give(0);
        answer
    }

    /// Notes that the client has it, unless it wants it no more; it has said so many bytes by now, read here or not.
    pub fn give(&self, said: u64) {
        let mut fate = self.fate();
        if matches!(*fate, Fate::OnItsWay) {
            *fate = Fate::Given { said };
        }
    }

    /// Notes that the client wants it no more. Then nothing proves that it was read.
    pub fn take_back(&self) {
        *self.fate() = Fate::Unwanted;
    }

    /// Says whether the client had it before it began to say what begins at this byte.
    pub fn precedes(&self, at: u64) -> bool {
        matches!(*self.fate(), Fate::Given { said } if said <= at)
    }

    fn fate(&self) -> MutexGuard<'_, Fate> {
        // It is only ever replaced as a whole.
        self.fate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_precedes_only_what_was_said_behind_it() {
        let answer = Answer::default();
        assert!(!answer.precedes(u64::MAX), "it is not given yet");
        answer.give(100);
        assert!(!answer.precedes(99));
        assert!(answer.precedes(100));
        answer.take_back();
        assert!(!answer.precedes(u64::MAX));
        let unwanted = Answer::default();
        unwanted.take_back();
        unwanted.give(100);
        assert!(!unwanted.precedes(u64::MAX));
    }
}
