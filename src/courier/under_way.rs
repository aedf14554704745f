//! Which errands are under way, which projects rest, and to which nothing could be taken for long. Pure: the time comes in.

use std::collections::BTreeMap;
use std::time::Instant;

use super::run_errand::Ended;
use crate::domain::member::Label;
use crate::domain::wait_times;

#[derive(Debug, Default)]
pub(super) struct UnderWay {
    begun: BTreeMap<Label, Instant>,
    resting_until: BTreeMap<Label, Instant>,
    /// Since when each errand to a project has found its bus busy.
    busy_since: BTreeMap<Label, Instant>,
}

impl UnderWay {
    /// Says whether an errand may begin: there is one at a time, and none to a project that rests.
    pub(super) fn may_begin(&self, tag: &Label, now: Instant) -> bool {
        let rests = self.resting_until.get(tag).is_some_and(|until| *until > now);
        !rests && !self.begun.contains_key(tag)
    }

    pub(super) fn begin(&mut self, tag: &Label, now: Instant) {
        self.begun.insert(tag.clone(), now);
    }

    pub(super) fn end(&mut self, tag: &Label, how: Ended, now: Instant) {
        let begun = self.begun.remove(tag).unwrap_or(now);
        match how {
            Ended::Busy => {
                self.busy_since.entry(tag.clone()).or_insert(begun);
            }
            Ended::Done | Ended::Again => {
                self.busy_since.remove(tag);
            }
        }
        match how {
            Ended::Done => self.resting_until.remove(tag),
            Ended::Again | Ended::Busy => {
                self.resting_until.insert(tag.clone(), now + wait_times::COURIER_REST)
            }
        };
    }

    /// Says whether a project has kept an errand for so long, or so many in a row, that whoever writes to it is told.
    pub(super) fn is_late(&self, tag: &Label, now: Instant) -> bool {
        let mut since = self.begun.get(tag).into_iter().chain(self.busy_since.get(tag));
        since.any(|since| now.saturating_duration_since(*since) > wait_times::ERRAND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bus_that_stays_busy_is_late_however_often_an_errand_to_it_begins_anew() {
        let (mut under_way, tag) = (UnderWay::default(), Label::parse("web").unwrap());
        let mut now = Instant::now();
        let late = now + wait_times::ERRAND;
        while now <= late {
            assert!(!under_way.is_late(&tag, now));
            assert!(under_way.may_begin(&tag, now));
            under_way.begin(&tag, now);
            assert!(!under_way.may_begin(&tag, now), "one at a time");
            now += wait_times::COURIER_REST / 2;
            under_way.end(&tag, Ended::Busy, now);
            assert!(!under_way.may_begin(&tag, now), "it rests");
            now += wait_times::COURIER_REST;
        }
        assert!(under_way.is_late(&tag, now));
        under_way.begin(&tag, now);
        under_way.end(&tag, Ended::Done, now);
        assert!(!under_way.is_late(&tag, now), "it has taken something");
        assert!(under_way.may_begin(&tag, now));
        under_way.begin(&tag, now);
        assert!(under_way.is_late(&tag, now + 2 * wait_times::ERRAND), "it hangs");
    }
}
