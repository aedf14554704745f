//! Decides whether to restart an agent whose process has ended by itself. It is pure.

use tokio::time::Instant;

use crate::config::Restart;
use crate::domain::member::Departure;
use crate::domain::wait_times;

/// The most restarts within [`wait_times::COUNT_RESTARTS`].
const MOST: usize = 5;

/// The restarts of one agent so far.
#[derive(Debug, Default)]
pub(crate) struct Restarts {
    at: Vec<Instant>,
    was_ready: bool,
}

/// What to do after an agent's process has ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Again,
    Ended,
    /// It is not restarted, because it ends too often.
    Abandoned(String),
}

impl Restarts {
    /// Notes that the agent was ready. One that never came up is not tried again.
    pub(crate) fn note_ready(&mut self) {
        self.was_ready = true;
    }

    /// Decides what to do after an end, and notes a restart.
    pub(crate) fn after(&mut self, policy: Restart, ended: Departure, now: Instant) -> Verdict {
        if policy == Restart::Never || ended != Departure::Failed || !self.was_ready {
            return Verdict::Ended;
        }
        self.at.retain(|at| now.duration_since(*at) < wait_times::COUNT_RESTARTS);
        if self
            .at
            .last()
            .is_some_and(|last| now.duration_since(*last) < wait_times::BETWEEN_RESTARTS)
        {
            let reason = format!(
                "it had been restarted less than {} s before",
                wait_times::BETWEEN_RESTARTS.as_secs()
            );
            return Verdict::Abandoned(reason);
        }
        if self.at.len() >= MOST {
            let reason = format!(
                "it was restarted {MOST} times within {} s",
                wait_times::COUNT_RESTARTS.as_secs()
            );
            return Verdict::Abandoned(reason);
        }
        self.at.push(now);
        Verdict::Again
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn ready() -> Restarts {
        let mut restarts = Restarts::default();
        restarts.note_ready();
        restarts
    }

    fn fails(restarts: &mut Restarts, now: Instant) -> Verdict {
        restarts.after(Restart::OnFailure, Departure::Failed, now)
    }

    #[test]
    fn only_an_agent_that_was_ready_and_failed_is_restarted_if_its_profile_says_so() {
        let now = Instant::now();
        assert_eq!(fails(&mut ready(), now), Verdict::Again);
        assert_eq!(fails(&mut Restarts::default(), now), Verdict::Ended);
        let never = ready().after(Restart::Never, Departure::Failed, now);
        assert_eq!(never, Verdict::Ended);
        for asked in [Departure::Stopped, Departure::Closed, Departure::Dead] {
            let verdict = ready().after(Restart::OnFailure, asked, now);
            assert_eq!(verdict, Verdict::Ended);
        }
    }

    #[test]
    fn what_fails_again_within_5_s_is_abandoned() {
        let (mut restarts, now) = (ready(), Instant::now());
        assert_eq!(fails(&mut restarts, now), Verdict::Again);
        let Abandoned(reason) =
            fails(&mut restarts, now + wait_times::BETWEEN_RESTARTS - SECOND / 10)
        else {
            panic!("it is too soon");
        };
        assert_eq!(reason, "it had been restarted less than 5 s before");
        assert_eq!(fails(&mut restarts, now + wait_times::BETWEEN_RESTARTS), Verdict::Again);
    }

    #[test]
    fn the_sixth_failure_within_60_s_is_abandoned_and_old_ones_are_forgotten() {
        let (mut restarts, now) = (ready(), Instant::now());
        for number in 0..5 {
            assert_eq!(fails(&mut restarts, now + 6 * SECOND * number), Verdict::Again);
        }
        let Abandoned(reason) = fails(&mut restarts, now + 59 * SECOND) else {
            panic!("it is too often");
        };
        assert_eq!(reason, "it was restarted 5 times within 60 s");
        assert_eq!(fails(&mut restarts, now + wait_times::COUNT_RESTARTS), Verdict::Again);
    }

    use Verdict::Abandoned;
}
