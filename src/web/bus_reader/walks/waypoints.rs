//! Places in the log from which entries can be read, by the seq of the entry there: the beginnings of its parts, and what walks have passed.

use std::collections::BTreeMap;

use crate::bus::event::{Entry, LogPosition};

/// How far apart in the log places are at least, in events, but for the beginnings of parts.
const APART: u64 = 128;

/// How many are kept: those of a log of some million entries. A megabyte and a half.
const MOST: usize = 40_000;

#[derive(Default)]
pub(super) struct Waypoints(BTreeMap<u64, LogPosition>);

impl Waypoints {
    /// Takes the parts that the log has now. What was in parts that are gone is forgotten.
    pub(super) fn refresh(&mut self, parts: &[LogPosition]) {
        let oldest = parts.first().map_or(u64::MAX, |part| part.segment);
        self.0.retain(|_, position| position.segment >= oldest);
        if self.0.len() > MOST {
            self.0.clear();
        }
        // A part is called after its first seq.
        self.0.extend(parts.iter().map(|part| (part.segment, *part)));
    }

    /// Notes where entries that were read begin.
    pub(super) fn note(&mut self, entries: &[(LogPosition, Entry)]) {
        let Some((position, entry)) = entries.first() else { return };
        let before = self.0.range(..=entry.seq).next_back();
        if before.is_none_or(|(seq, _)| entry.seq - seq >= APART) {
            self.0.insert(entry.seq, *position);
        }
    }

    /// Returns the place that is so many before a seq, or the oldest; none if none is before it.
    pub(super) fn before(&self, seq: u64, count: usize) -> Option<(u64, LogPosition)> {
        let before = self.0.range(..seq).rev().take(count.max(1));
        before.last().map(|(seq, position)| (*seq, *position))
    }

    /// Says whether there is none before a seq.
    pub(super) fn is_oldest(&self, seq: u64) -> bool {
        self.0.range(..seq).next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(segment: u64) -> LogPosition {
        LogPosition { segment, offset: 0 }
    }

    #[test]
    fn places_are_found_back_from_a_seq_and_go_with_their_part() {
        let mut places = Waypoints::default();
        places.refresh(&[part(1), part(100), part(200)]);
        assert_eq!(places.before(150, 1), Some((100, part(100))));
        assert_eq!(places.before(100, 1), Some((1, part(1))));
        assert_eq!(places.before(201, 9), Some((1, part(1))));
        assert_eq!(places.before(1, 1), None);
        assert!(places.is_oldest(1) && !places.is_oldest(2));
        places.refresh(&[part(100), part(200)]);
        assert_eq!(places.before(99, 1), None);
    }
}
