//! Whether the answer of a call reached its client. Only then can anything prove that it was read.

use std::sync::Arc;

use tokio::sync::watch;

/// The answer of one call. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    fate: Arc<watch::Sender<Fate>>,
}

#[derive(Clone, Copy, Debug, Default)]
enum Fate {
    /// Not written, or only in part.
    #[default]
    Pending,
    /// The client has it, and had sent this many bytes by then.
    Given { sent: u64 },
    /// The client cancelled its request, or cannot be written to.
    Undeliverable,
}

impl Answer {
    /// Returns an answer to a caller in this process, which has it at once.
    pub fn given() -> Self {
        let answer = Self::default();
        answer.give(0);
        answer
    }

    /// Notes that the client has the answer, unless it was cancelled. `sent` counts the client's bytes so far, read here or not.
    pub fn give(&self, sent: u64) {
        self.fate.send_if_modified(|fate| {
            let is_first = matches!(fate, Fate::Pending);
            if is_first {
                *fate = Fate::Given { sent };
            }
            is_first
        });
    }

    /// Notes that the client cancelled the call, or will never have the answer. Then nothing proves that it was read.
    pub fn cancel(&self) {
        self.fate.send_replace(Fate::Undeliverable);
    }

    /// Says whether the client had the answer before it began the request at this byte.
    pub fn precedes(&self, at: u64) -> bool {
        matches!(*self.fate.borrow(), Fate::Given { sent } if sent <= at)
    }

    /// Says whether the client has the answer.
    pub fn is_given(&self) -> bool {
        matches!(*self.fate.borrow(), Fate::Given { .. })
    }

    /// Waits until the answer is written or cancelled, and says whether it was written. Cancel-safe.
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
    fn an_answer_precedes_only_later_requests() {
        let answer = Answer::default();
        assert!(!answer.precedes(u64::MAX), "it is not given yet");
        answer.give(100);
        assert!(!answer.precedes(99));
        assert!(answer.precedes(100));
        answer.cancel();
        assert!(!answer.precedes(u64::MAX));
        let cancelled = Answer::default();
        cancelled.cancel();
        cancelled.give(100);
        assert!(!cancelled.precedes(u64::MAX));
    }

    #[tokio::test]
    async fn waiting_for_an_answer_ends_with_whether_it_was_given() {
        for given in [true, false] {
            let answer = Answer::default();
            let settle = async {
                if given {
                    answer.give(1);
                } else {
                    answer.cancel();
                }
            };
            let (was_given, ()) = tokio::join!(answer.was_given(), settle);
            assert_eq!(was_given, given);
        }
    }
}
