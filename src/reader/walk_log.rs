//! Walks over the entries of a log, a few at a time.

use super::log_texts::LogTexts;
use crate::bus::event::{Entry, LogPosition};
use crate::bus::state::State;
use crate::bus::storage::LogError;
use crate::bus::storage::file::Follower;
use crate::view::Texts;

/// How many entries are read at a time: few enough to keep memory flat, enough to read fast.
const ENTRIES: usize = 256;

/// Calls a function with each entry of a log from a position on, and the state of its end. Returns the position after the last.
pub fn walk(
    bus: &mut Follower,
    mut from: LogPosition,
    take: &mut dyn FnMut(&Entry, &State, &mut dyn Texts),
) -> Result<LogPosition, LogError> {
    loop {
        let (entries, next) = bus.entries_after(from, ENTRIES)?;
        if entries.is_empty() {
            return Ok(next);
        }
        let (state, texts) = bus.state_and_texts();
        let mut texts = LogTexts(texts);
        for (_, entry) in &entries {
            take(entry, state, &mut texts);
        }
        from = next;
    }
}

/// Calls a function with each entry of the whole log.
pub fn walk_all(
    bus: &mut Follower,
    take: &mut dyn FnMut(&Entry, &State, &mut dyn Texts),
) -> Result<(), LogError> {
    let first = bus.parts()?.first().copied().unwrap_or_default();
    walk(bus, first, take).map(drop)
}
