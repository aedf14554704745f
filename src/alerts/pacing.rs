//! When alerts are sent: several of a burst together, and none in quiet hours. Pure: times come in.

use std::time::Duration;

use super::watch_state::Alert;
use crate::config::QuietHours;
use crate::domain::limits;
use crate::domain::wait_times;

/// Alerts that wait to be sent.
#[derive(Debug)]
pub(super) struct Pacing {
    burst: Duration,
    quiet: Option<QuietHours>,
    waiting: Vec<Alert>,
    /// How many more there were than are kept.
    surplus: usize,
    /// When the first of them came, in milliseconds of any clock that only goes forward.
    first_ms: u64,
    /// When the last notification was sent.
    sent_ms: Option<u64>,
}

/// The time, in both forms that matter here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Milliseconds of a clock that only goes forward.
    pub(super) ms: u64,
    /// The minute of the user's day.
    pub(super) minute: u32,
}

impl Pacing {
    pub(super) fn new(burst: Duration, quiet: Option<QuietHours>) -> Self {
        Self { burst, quiet, waiting: Vec::new(), surplus: 0, first_ms: 0, sent_ms: None }
    }

    /// Adds alerts that have just come up.
    pub(super) fn add(&mut self, alerts: impl IntoIterator<Item = Alert>, now: Clock) {
        for alert in alerts {
            if self.waiting.is_empty() {
                self.first_ms = now.ms;
            }
            if self.waiting.len() < limits::WAITING_ALERTS {
                self.waiting.push(alert);
            } else {
                self.surplus += 1;
            }
        }
    }

    /// Returns in how many milliseconds to look again whether alerts are due, if any wait.
    pub(super) fn pause(&self, now: Clock) -> Option<u64> {
        if self.waiting.is_empty() {
            return None;
        }
        if self.is_quiet(now) {
            return Some(millis(wait_times::QUIET_LOOK));
        }
        Some(self.due_ms().saturating_sub(now.ms))
    }

    /// Takes the alerts that are due, with the number of those that were too many to keep.
    pub(super) fn take_due(&mut self, now: Clock) -> Option<(Vec<Alert>, usize)> {
        (self.pause(now) == Some(0)).then(|| self.take(now)).flatten()
    }

    /// Takes all that wait, because this process ends; nothing in quiet hours.
    pub(super) fn take_last(&mut self, now: Clock) -> Option<(Vec<Alert>, usize)> {
        if self.is_quiet(now) { None } else { self.take(now) }
    }

    fn take(&mut self, now: Clock) -> Option<(Vec<Alert>, usize)> {
        if self.waiting.is_empty() {
            return None;
        }
        self.sent_ms = Some(now.ms);
        Some((std::mem::take(&mut self.waiting), std::mem::take(&mut self.surplus)))
    }

    /// The first alert waits a moment for others of the same burst, and all wait for the end of the last burst.
    fn due_ms(&self) -> u64 {
        let gathered = self.first_ms + millis(wait_times::GATHER_ALERTS);
        let after_last = self.sent_ms.map_or(0, |sent| sent + millis(self.burst));
        gathered.max(after_last)
    }

    fn is_quiet(&self, now: Clock) -> bool {
        self.quiet.is_some_and(|quiet| quiet.has(now.minute))
    }
}

/// Returns a time in milliseconds.
pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alerts::watch_state::Subject;
    use crate::domain::alert_kind::AlertKind;
    use crate::domain::ids::TaskId;

    fn alert() -> Alert {
        Alert {
            kind: AlertKind::Finished,
            subject: Subject::Task(TaskId::from_bits(1)),
            words: "ann has finished".to_owned(),
            text: None,
        }
    }

    fn at(ms: u64) -> Clock {
        Clock { ms, minute: 12 * 60 }
    }

    #[test]
    fn a_burst_is_one_notification() {
        let mut pacing = Pacing::new(Duration::from_secs(10), None);
        assert_eq!(pacing.pause(at(0)), None);
        pacing.add([alert()], at(100));
        assert!(pacing.take_due(at(100)).is_none());
        pacing.add([alert()], at(600));
        let pause = pacing.pause(at(600)).unwrap();
        let due = 600 + pause;
        assert!(pacing.take_due(at(due - 1)).is_none());
        assert_eq!(pacing.take_due(at(due)).unwrap().0.len(), 2);
        pacing.add([alert()], at(due + 1));
        assert!(pacing.take_due(at(due + 9_999)).is_none());
        assert_eq!(pacing.take_due(at(due + 10_000)).unwrap().0.len(), 1);
        assert_eq!(pacing.pause(at(due + 10_000)), None);
    }

    #[test]
    fn quiet_hours_keep_alerts_until_their_end() {
        let quiet = QuietHours::parse("22:00-07:00");
        let mut pacing = Pacing::new(Duration::ZERO, quiet);
        let night = Clock { ms: 0, minute: 23 * 60 };
        pacing.add([alert()], night);
        let later = Clock { ms: 3_600_000, ..night };
        assert!(pacing.take_due(later).is_none());
        assert!(pacing.take_last(later).is_none());
        assert!(pacing.pause(later).unwrap() > 0);
        let morning = Clock { ms: 8 * 3_600_000, minute: 7 * 60 };
        assert_eq!(pacing.take_due(morning).unwrap().0.len(), 1);
    }

    #[test]
    fn alerts_beyond_the_limit_are_counted() {
        let mut pacing = Pacing::new(Duration::ZERO, None);
        let count = limits::WAITING_ALERTS + 7;
        pacing.add((0..count).map(|_| alert()), at(0));
        let (kept, surplus) = pacing.take_last(at(0)).unwrap();
        assert_eq!((kept.len(), surplus), (limits::WAITING_ALERTS, 7));
    }
}
