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

/// Folds the last parts of the log, and twice as many each time, until the fold has enough or has the whole log. Returns it, and where the
/// log continues. `begin` makes a fold that has nothing yet.
pub fn fold_back<F>(
    bus: &mut Follower,
    begin: impl Fn() -> F,
    take: impl Fn(&mut F, &Entry, &State, &mut dyn Texts),
    has_enough: impl Fn(&F) -> bool,
) -> Result<(F, LogPosition), LogError> {
    let parts = bus.parts()?;
    let mut back = 1;
    loop {
        let first = parts.len().saturating_sub(back);
        let from = parts.get(first).copied().unwrap_or_default();
        let mut fold = begin();
        let next =
            walk(bus, from, &mut |entry, state, texts| take(&mut fold, entry, state, texts))?;
        if first == 0 || has_enough(&fold) {
            return Ok((fold, next));
        }
        back *= 2;
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
