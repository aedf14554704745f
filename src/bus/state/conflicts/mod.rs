//! Disagreements in threads: each is open until somebody agrees or decides.

mod conflict;
mod conflict_events;

pub use self::conflict::{Conflict, ConflictEnding, Party};
