//! How long the bridge waits for an agent that starts: as long as it shows signs of life, up to a limit.
//!
//! A first start by `npx` downloads packages, a cold disk is slow, a login takes its time. Such an agent writes to its stderr, or
//! its processes use the processor. An agent is abandoned once it has had the time that its profile grants and has done neither
//! lately.

use std::time::Duration;

use crate::acp::AcpError;
use crate::domain::wait_times;
use crate::supervisor::Supervised;
use crate::sys::process::descendants;

/// The processor time in half a limit that counts as work: less is the background noise of a program that waits.
const WORK: Duration = Duration::from_secs(1);

/// The output and processor time of an agent so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SignsOfLife {
    stderr_bytes: u64,
    processor: Duration,
}

impl SignsOfLife {
    /// Returns whether an agent has shown a sign of life since an earlier look.
    fn is_more_than(self, earlier: Self) -> bool {
        self.stderr_bytes > earlier.stderr_bytes
            || self.processor.saturating_sub(earlier.processor) >= WORK
    }
}

/// Returns the longest that an agent may take in all.
pub(crate) fn longest(limit: Duration) -> Duration {
    limit.saturating_mul(wait_times::START_EXTENSION)
}

/// Waits for the answer to a request. The agent may be silent for `limit`, and take [`longest`] in all.
pub(crate) async fn patient<T>(
    child: &Supervised,
    limit: Duration,
    method: &str,
    asking: impl Future<Output = Result<T, AcpError>>,
) -> Result<T, AcpError> {
    let look = || {
        let child = child.clone();
        async move {
            let (stderr_bytes, pid) = (child.stderr_bytes(), child.pid());
            let looking = tokio::task::spawn_blocking(move || descendants::processor_time(pid));
            SignsOfLife { stderr_bytes, processor: looking.await.unwrap_or_default() }
        }
    };
    let waited = wait(limit, look, asking).await;
    waited.unwrap_or_else(|after| Err(AcpError::Deadline { method: method.to_owned(), after }))
}

/// Waits for a future, or returns how long it waited in vain. Only signs of life in the last half of the limit count: every program
/// shows some when it begins.
async fn wait<T, F: Future<Output = SignsOfLife>>(
    limit: Duration,
    look: impl Fn() -> F,
    awaited: impl Future<Output = T>,
) -> Result<T, Duration> {
    tokio::pin!(awaited);
    let mut seen = SignsOfLife::default();
    for half in 1..=2 * wait_times::START_EXTENSION {
        if let Ok(done) = tokio::time::timeout(limit / 2, &mut awaited).await {
            return Ok(done);
        }
        let now = look().await;
        if half > 1 && !now.is_more_than(seen) {
            return Err(limit * half / 2);
        }
        seen = now;
    }
    Err(longest(limit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const LIMIT: Duration = Duration::from_mins(2);

    /// Waits for something that takes this many seconds, from an agent that showed these signs of life after each half of the
    /// limit.
    async fn check(seconds: u64, seen: &[(u64, u64)], expected: Result<(), u64>) {
        let looks = Cell::new(0);
        let look = || {
            let (stderr_bytes, processor) = seen.get(looks.get()).copied().unwrap_or_default();
            looks.set(looks.get() + 1);
            let processor = Duration::from_secs(processor);
            std::future::ready(SignsOfLife { stderr_bytes, processor })
        };
        let done = wait(LIMIT, look, tokio::time::sleep(Duration::from_secs(seconds))).await;
        assert_eq!(done.map_err(|after| after.as_secs()), expected, "{seconds} {seen:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_start_continues_while_it_shows_signs_of_life() {
        check(119, &[], Ok(())).await;
        check(130, &[(0, 0), (0, 0)], Err(120)).await;
        // It was busy when it began, and then hung.
        check(130, &[(9, 9), (9, 9)], Err(120)).await;
        // A download reports its progress.
        check(130, &[(0, 0), (1, 0)], Ok(())).await;
        // A compiler is busy.
        check(130, &[(9, 9), (9, 10)], Ok(())).await;
        check(190, &[(0, 0), (1, 0), (1, 0)], Err(180)).await;
        check(190, &[(0, 0), (1, 0), (1, 1)], Ok(())).await;
        let busy: Vec<_> = (1..10).map(|period| (period, 0)).collect();
        check(599, &busy, Ok(())).await;
        check(601, &busy, Err(600)).await;
    }
}
