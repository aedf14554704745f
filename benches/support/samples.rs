//! Samples and their summary: percentiles of durations, and ratios of rounds.
//!
//! The speed of a machine with other load varies by a factor of five within minutes, so an absolute figure means little. The stable
//! figure is the ratio of ours to an anchor measured just before, as the median of several rounds.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use super::Outcome;

/// Durations in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples(Vec<u64>);

impl Samples {
    pub(crate) fn push(&mut self, duration: Duration) {
        self.0.push(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }

    pub(crate) fn push_ns(&mut self, nanoseconds: u64) {
        self.0.push(nanoseconds);
    }

    pub(crate) fn extend(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    /// Returns the duration, in microseconds, that this percentage of the samples does not exceed.
    pub(crate) fn percentile_us(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let index = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
        sorted.get(index).map_or(0.0, |ns| in_us(*ns))
    }

    /// Writes them as one line, for another process.
    pub(crate) fn to_line(&self) -> String {
        let texts: Vec<_> = self.0.iter().map(u64::to_string).collect();
        texts.join(" ")
    }

    /// Reads such a line.
    pub(crate) fn from_line(line: &str) -> Outcome<Self> {
        let parsed: Result<_, _> = line.split_whitespace().map(str::parse).collect();
        Ok(Self(parsed?))
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a duration in a benchmark is far below 2^52 nanoseconds"
)]
fn in_us(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1000.0
}

/// Rounds of one figure: the anchor, and ours measured beside it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds(Vec<(f64, f64)>);

impl Rounds {
    pub(crate) fn push(&mut self, anchor: f64, ours: f64) {
        self.0.push((anchor, ours));
    }

    pub(crate) fn anchor(&self) -> f64 {
        median(self.0.iter().map(|round| round.0))
    }

    pub(crate) fn ours(&self) -> f64 {
        median(self.0.iter().map(|round| round.1))
    }

    /// Returns the median, the least and the greatest ratio of the rounds.
    pub(crate) fn ratio(&self) -> (f64, f64, f64) {
        let ratios = || self.0.iter().map(|(anchor, ours)| ours / anchor);
        (median(ratios()), ratios().fold(f64::INFINITY, f64::min), ratios().fold(0.0, f64::max))
    }
}

/// Returns the median.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<_> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Nanoseconds of `CLOCK_MONOTONIC`, which all processes of a machine share.
pub(crate) fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC)
        .expect("CLOCK_MONOTONIC exists on every supported system");
    u64::try_from(time.tv_sec()).unwrap_or(0) * 1_000_000_000
        + u64::try_from(time.tv_nsec()).unwrap_or(0)
}
