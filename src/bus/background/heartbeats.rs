//! The heartbeats that one process watches: which have stood still for too long, and which move again.
//!
//! Only watched time counts: a process that was stopped itself, or slept with its machine, watched nothing meanwhile.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::domain::ids::SessionId;
use crate::domain::wait_times;

/// How often a process looks around and beats, and when it takes another session for hung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatIntervals {
    /// How often it looks around for lost wakeups, dead sessions, and appends without a wakeup.
    pub look_around: Duration,
    /// How often the presences of this process beat.
    pub beat: Duration,
    /// How long a heartbeat must be seen to stand still before its session counts as hung: several beats.
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

/// One watched heartbeat.
#[derive(Clone, Copy, Debug)]
struct Heartbeat {
    beat: i128,
    /// How long it has been seen to stand still.
    still: Duration,
}

/// A session in one look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObservedSession {
    pub(crate) session: SessionId,
    /// Its heartbeat; none without a presence.
    pub(crate) beat: Option<i128>,
    /// Whether it already counts as hung.
    pub(crate) hung: bool,
}

/// The changes found by one look.
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

    /// Takes in a look at sessions, `since` after the previous look.
    pub(crate) fn look(&mut self, since: Duration, all: &[ObservedSession]) -> HeartbeatsSeen {
        // A late look means that this process was not watching.
        let watched = since.min(self.pace.look_around * 2);
        let mut known = BTreeMap::new();
        let mut seen = HeartbeatsSeen::default();
        for observed in all {
            let Some(beat) = observed.beat else { continue };
            let before = self.known.get(&observed.session);
            let still = match before {
                Some(before) if before.beat == beat => before.still + watched,
                _ => Duration::ZERO,
            };
            let moved = before.is_some_and(|before| before.beat != beat);
            if observed.hung && moved {
                seen.back.push(observed.session);
            } else if !observed.hung && still >= self.pace.hung {
                seen.hung.push(observed.session);
            }
            known.insert(observed.session, Heartbeat { beat, still });
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

    fn observed(beat: i128, hung: bool) -> [ObservedSession; 1] {
        [ObservedSession { session: id(), beat: Some(beat), hung }]
    }

    /// Looks every second until the session is hung, and returns the number of seconds.
    fn seconds_until_hung(heartbeats: &mut Heartbeats, beat: i128) -> u64 {
        let mut seconds = 0;
        while heartbeats.look(SECOND, &observed(beat, false)).hung.is_empty() {
            seconds += 1;
        }
        seconds
    }

    #[test]
    fn a_heartbeat_that_stood_still_is_hung_and_one_that_moves_is_back() {
        let mut heartbeats = Heartbeats::new(HeartbeatIntervals::default());
        assert_eq!(seconds_until_hung(&mut heartbeats, 7), 30);
        assert_eq!(heartbeats.look(SECOND, &observed(7, true)), HeartbeatsSeen::default());
        let back = heartbeats.look(SECOND, &observed(8, true));
        assert_eq!((back.hung, back.back), (vec![], vec![id()]));
        assert_eq!(heartbeats.look(SECOND, &observed(8, false)), HeartbeatsSeen::default());
    }

    #[test]
    fn each_beat_restarts_the_watch() {
        let mut heartbeats = Heartbeats::new(HeartbeatIntervals::default());
        for second in 0..100 {
            let beat = observed(second / 25, false);
            assert_eq!(heartbeats.look(SECOND, &beat), HeartbeatsSeen::default(), "{second}");
        }
    }

    #[test]
    fn unwatched_time_does_not_count_as_standing_still() {
        let mut heartbeats = Heartbeats::new(HeartbeatIntervals::default());
        heartbeats.look(SECOND, &observed(7, false));
        let after_a_sleep = heartbeats.look(Duration::from_hours(1), &observed(7, false));
        assert_eq!(after_a_sleep, HeartbeatsSeen::default());
        assert_eq!(seconds_until_hung(&mut heartbeats, 7), 27);
    }

    #[test]
    fn a_newcomer_and_a_session_without_presence_are_not_hung() {
        let mut heartbeats = Heartbeats::new(HeartbeatIntervals::default());
        let gone = [ObservedSession { beat: None, ..observed(0, false)[0] }];
        for _ in 0..100 {
            assert_eq!(heartbeats.look(SECOND, &gone), HeartbeatsSeen::default());
        }
        // Another process found it hung, and this one has to see it move.
        assert_eq!(heartbeats.look(SECOND, &observed(1, true)), HeartbeatsSeen::default());
        assert_eq!(heartbeats.look(SECOND, &observed(2, true)).back, [id()]);
    }
}
