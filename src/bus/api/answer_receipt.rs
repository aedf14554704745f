//! Whether the answer of a call reached its client: only such an answer can be proven to have been read.

use std::sync::Arc;

use tokio::sync::watch;

/// The answer of one call. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    fate: Arc<watch::Sender<Fate>>,
}

#[derive(Clone, Copy, Debug, Default)]
enum Fate {
    /// It is not written, or not whole.
    #[default]
    Pending,
    /// The client has it, and had said so many bytes by then.
    Given { said: u64 },
    /// The client has taken its question back, or cannot be written to.
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
        self.fate.send_if_modified(|fate| {
            let is_first = matches!(fate, Fate::Pending);
            if is_first {
                *fate = Fate::Given { said };
            }
            is_first
        });
    }

    /// Notes that the client wants it no more, or will never have it. Then nothing proves that it was read.
    pub fn take_back(&self) {
        self.fate.send_replace(Fate::Unwanted);
    }

    /// Says whether the client had it before it began to say what begins at this byte.
    pub fn precedes(&self, at: u64) -> bool {
        matches!(*self.fate.borrow(), Fate::Given { said } if said <= at)
    }

    /// Waits until it is written or never will be, and says whether it is. Cancel-safe.
    pub async fn was_given(&self) -> bool {
        let mut fate = self.fate.subscribe();
        let known = fate.wait_for(|fate| !matches!(fate, Fate::Pending));
        matches!(known.await.as_deref(), Ok(Fate::Given { .. }))
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

    #[tokio::test]
    async fn who_waits_for_it_hears_whether_it_was_given() {
        for given in [true, false] {
            let answer = Answer::default();
            let settle = async {
                if given {
                    answer.give(1);
                } else {
                    answer.take_back();
                }
            };
            let (was_given, ()) = tokio::join!(answer.was_given(), settle);
            assert_eq!(was_given, given);
        }
    }
}
