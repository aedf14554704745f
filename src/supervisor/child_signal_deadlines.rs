//! The deadlines for signals to a child, and the signal that is due. Pure: the watchers send the signals.

use tokio::time::Instant;

/// The deadlines for signals to a child. A further stop request only ever makes them sooner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SignalDeadlines {
    pub(super) terminate: Option<Instant>,
    pub(super) kill: Option<Instant>,
}

/// The strongest signal that was sent to the child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SignalsSent {
    Nothing,
    Terminate,
    Kill,
}

impl SignalDeadlines {
    /// Returns the sooner of each deadline.
    pub(super) fn sooner(self, other: Self) -> Self {
        Self {
            terminate: earliest(self.terminate, other.terminate),
            kill: earliest(self.kill, other.kill),
        }
    }

    /// Returns the strongest signal due by now. A child without a handle is killed.
    pub(super) fn due(self, sent: SignalsSent, handles_left: bool, now: Instant) -> SignalsSent {
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let due = if is_due(self.kill) || !handles_left {
            SignalsSent::Kill
        } else if is_due(self.terminate) {
            SignalsSent::Terminate
        } else {
            SignalsSent::Nothing
        };
        due.max(sent)
    }

    /// Returns the next deadline.
    pub(super) fn next(self, sent: SignalsSent) -> Option<Instant> {
        match sent {
            SignalsSent::Nothing => earliest(self.terminate, self.kill),
            SignalsSent::Terminate => self.kill,
            SignalsSent::Kill => None,
        }
    }
}

fn earliest(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    one.into_iter().chain(other).min()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_further_stop_request_never_makes_it_later() {
        let now = Instant::now();
        let at = |milliseconds| Some(now + Duration::from_millis(milliseconds));
        let first = SignalDeadlines { terminate: at(10), kill: at(50) };
        let second = SignalDeadlines { terminate: at(20), kill: at(30) };
        assert_eq!(first.sooner(second), SignalDeadlines { terminate: at(10), kill: at(30) });
        assert_eq!(SignalDeadlines::default().sooner(first), first);
    }

    #[test]
    fn the_strongest_signal_requested_by_now_is_due() {
        let now = Instant::now();
        let later = now + Duration::from_secs(1);
        let deadlines = SignalDeadlines { terminate: Some(now), kill: Some(later) };
        assert_eq!(
            SignalDeadlines::default().due(SignalsSent::Nothing, true, now),
            SignalsSent::Nothing
        );
        assert_eq!(deadlines.due(SignalsSent::Nothing, true, now), SignalsSent::Terminate);
        assert_eq!(deadlines.due(SignalsSent::Terminate, true, later), SignalsSent::Kill);
        assert_eq!(deadlines.due(SignalsSent::Kill, true, now), SignalsSent::Kill);
        assert_eq!(deadlines.due(SignalsSent::Nothing, false, now), SignalsSent::Kill);
        assert_eq!(deadlines.next(SignalsSent::Terminate), Some(later));
        assert_eq!(deadlines.next(SignalsSent::Kill), None);
    }
}
