//! Heartbeats, as one process watches them: which stand still for too long, and which move again.
//!
//! Only watched time counts: a process that was stopped itself, or slept with its machine, has seen nothing meanwhile.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::domain::ids::SessionId;
use crate::domain::wait_times;

/// How often a process looks around and shows a sign of life, and what it makes of those of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatIntervals {
    /// How often it looks around for lost bells, deaths, and appends without a bell.
    pub look_around: Duration,
    /// How often the presences of this process show a sign of life.
    pub beat: Duration,
    /// How long a heartbeat has to be watched standing still before its session counts as hung: several beats.
    pub hung: Duration,
}

impl Default for HeartbeatIntervals {
    fn default() -> Self {
        Self {
            look_around: wait_times::LOOK_AROUND,
            beat: wait_times::HEARTBEAT,
            hung: wait_times::HUNG,
        }
    }
}

/// One heartbeat, as far as it was watched.
#[derive(Clone, Copy, Debug)]
struct Heartbeat {
    beat: i128,
    /// How long it has been watched standing still.
    still: Duration,
}

/// A session as it is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObservedSession {
    pub(crate) session: SessionId,
    /// Its heartbeat; none when its presence is not there.
    pub(crate) beat: Option<i128>,
    /// Whether it counts as hung already.
    pub(crate) hung: bool,
}

/// The findings of one look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeartbeatsSeen {
    /// The sessions whose heartbeat has stood still for too long.
    pub(crate) hung: Vec<SessionId>,
    /// The sessions whose heartbeat moves again.
    pub(crate) back: Vec<SessionId>,
}

/// The heartbeats that one process watches.
#[derive(Debug)]
pub(crate) struct Heartbeats {
    pace: HeartbeatIntervals,
    known: BTreeMap<SessionId, Heartbeat>,
}

impl Heartbeats {
    pub(crate) fn new(pace: HeartbeatIntervals) -> Self {
        Self { pace, known: BTreeMap::new() }
    }

    /// Takes in a look at all live sessions, `since` after the one before.
    pub(crate) fn look(&mut self, since: Duration, all: &[ObservedSession]) -> HeartbeatsSeen {
        // A look that comes late says that this process was not watching.
        let watched = since.min(self.pace.look_around * 2);
        let mut known = BTreeMap::new();
        let mut seen = HeartbeatsSeen::default();
        for looked in all {
            let Some(beat) = looked.beat else { continue };
            let before = self.known.get(&looked.session);
            let still = match before {
                Some(pulse) if pulse.beat == beat => pulse.still + watched,
                _ => Duration::ZERO,
            };
            let moved = before.is_some_and(|pulse| pulse.beat != beat);
            if looked.hung && moved {
                seen.back.push(looked.session);
            } else if !looked.hung && still >= self.pace.hung {
                seen.hung.push(looked.session);
            }
            known.insert(looked.session, Heartbeat { beat, still });
        }
        self.known = known;
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn id() -> SessionId {
        SessionId(uuid::Uuid::from_u128(1))
    }

    fn looked(beat: i128, hung: bool) -> [ObservedSession; 1] {
        [ObservedSession { session: id(), beat: Some(beat), hung }]
    }

    /// Looks every second until it is seen hung; returns after how many.
    fn seconds_until_hung(pulses: &mut Heartbeats, beat: i128) -> u64 {
        let mut seconds = 0;
        while pulses.look(SECOND, &looked(beat, false)).hung.is_empty() {
            seconds += 1;
        }
        seconds
    }

    #[test]
    fn a_heartbeat_that_was_watched_standing_still_is_hung_and_one_that_moves_is_back() {
        let mut pulses = Heartbeats::new(HeartbeatIntervals::default());
        assert_eq!(seconds_until_hung(&mut pulses, 7), 30);
        assert_eq!(pulses.look(SECOND, &looked(7, true)), HeartbeatsSeen::default());
        let back = pulses.look(SECOND, &looked(8, true));
        assert_eq!((back.hung, back.back), (vec![], vec![id()]));
        assert_eq!(pulses.look(SECOND, &looked(8, false)), HeartbeatsSeen::default());
    }

    #[test]
    fn each_beat_begins_the_watch_anew() {
        let mut pulses = Heartbeats::new(HeartbeatIntervals::default());
        for second in 0..100 {
            let beat = looked(second / 25, false);
            assert_eq!(pulses.look(SECOND, &beat), HeartbeatsSeen::default(), "{second}");
        }
    }

    #[test]
    fn who_did_not_watch_has_seen_nothing_stand_still() {
        let mut pulses = Heartbeats::new(HeartbeatIntervals::default());
        pulses.look(SECOND, &looked(7, false));
        let after_a_sleep = pulses.look(Duration::from_hours(1), &looked(7, false));
        assert_eq!(after_a_sleep, HeartbeatsSeen::default());
        assert_eq!(seconds_until_hung(&mut pulses, 7), 27);
    }

    #[test]
    fn a_newcomer_and_a_session_without_presence_are_not_hung() {
        let mut pulses = Heartbeats::new(HeartbeatIntervals::default());
        let gone = [ObservedSession { beat: None, ..looked(0, false)[0] }];
        for _ in 0..100 {
            assert_eq!(pulses.look(SECOND, &gone), HeartbeatsSeen::default());
        }
        // Another process found it hung: this one has to see it move itself.
        assert_eq!(pulses.look(SECOND, &looked(1, true)), HeartbeatsSeen::default());
        assert_eq!(pulses.look(SECOND, &looked(2, true)).back, [id()]);
    }
}
