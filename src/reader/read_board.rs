//! The board of a bus on disk.

use std::collections::BTreeSet;

use super::log_texts::LogTexts;
use crate::bus::storage::file::Follower;
use crate::domain::ids::SessionId;
use crate::view::{Board, KnownTexts, KnownWords, Looked};

/// Makes the board of a bus, with at most so many ended tasks, requests, workflows and members of each.
pub fn board(bus: &mut Follower, most_ended: usize) -> Board {
    board_again(bus, most_ended, &mut KnownWords::default())
}

/// Makes the board of a bus of which earlier boards have read words.
pub fn board_again(bus: &mut Follower, most_ended: usize, known: &mut KnownWords) -> Board {
    let (seq, now, damaged_lines) = (bus.seq(), bus.now(), bus.damaged_lines());
    let held = held_sessions(bus);
    let (state, texts) = bus.state_and_texts();
    let is_held = |session| held.contains(&session);
    let looked = Looked { state, seq, now, is_held: &is_held, damaged_lines, most_ended };
    Board::of(&looked, &mut KnownTexts { texts: &mut LogTexts(texts), known })
}

/// Returns the sessions whose processes live.
pub fn held_sessions(bus: &Follower) -> BTreeSet<SessionId> {
    bus.state().session_ids().filter(|session| bus.is_held(*session)).collect()
}
