//! The page of messages before a seq: a walk over the entries that hold them, and over those after them until their receipts are known.

use super::kept_places::{Kept, VAGUE_ENTRIES};
use crate::bus::event::LogPosition;
use crate::bus::storage::LogError;
use crate::bus::storage::file::Follower;
use crate::domain::limits;
use crate::reader::LogTexts;
use crate::view::{Conversation, Letter};
use crate::web::pages::OlderLetters;

/// How many entries are read after messages that somebody has acknowledged or whose threads are resolved, for what was said of them later:
/// about as many as there are until the last of the ended messages that a bus knows is forgotten, and says nothing more.
const LATE_WORDS: usize = 8 * limits::KEPT_ENDED;

pub(in crate::web::bus_reader) struct OlderWalk {
    before: u64,
    /// Where it has begun; none at first.
    begun: Option<u64>,
    /// How many places further back it begins the next time.
    back: usize,
    position: LogPosition,
    conversation: Conversation,
    /// Whether all messages before the seq were read, and how many entries since.
    after: Option<usize>,
}

impl OlderWalk {
    pub(super) fn before(before: u64) -> Self {
        Self {
            before,
            begun: None,
            back: 2,
            position: LogPosition::default(),
            conversation: none_yet(),
            after: None,
        }
    }

    pub(super) fn step(
        &mut self,
        bus: &mut Follower,
        kept: &mut Kept,
    ) -> Result<Option<OlderLetters>, LogError> {
        if self.begun.is_none() {
            kept.waypoints.refresh(&bus.parts()?);
            if !self.begin(kept, self.before) {
                return Ok(Some(self.found()));
            }
        }
        let (entries, next) = bus.entries_after(self.position, kept.entries)?;
        kept.waypoints.note(&entries);
        let before = self.before;
        let is_older = |letter: &Letter| letter.seq < before && !letter.is_routine();
        let (state, texts) = bus.state_and_texts();
        let mut texts = LogTexts(texts);
        for (_, entry) in &entries {
            self.conversation.take_some(entry, state, &mut texts, &is_older);
        }
        let is_end = entries.is_empty();
        let has_passed = entries.last().is_none_or(|(_, entry)| entry.seq >= before);
        self.position = next;
        if self.after.is_none() {
            if !has_passed {
                return Ok(None);
            }
            let begun = self.begun.unwrap_or_default();
            let is_enough = self.conversation.letters().count() > limits::WEB_OLDER;
            if !is_enough && !kept.waypoints.is_oldest(begun) {
                self.begin(kept, begun);
                return Ok(None);
            }
        }
        let after = self.after.map_or(0, |after| after + entries.len());
        self.after = Some(after);
        if after > VAGUE_ENTRIES {
            self.conversation.give_up_vague();
        }
        let waits_for_words = after <= LATE_WORDS && self.conversation.may_have_other_words();
        let is_over = is_end || !waits_for_words && self.conversation.is_settled(state);
        Ok(is_over.then(|| self.found()))
    }

    /// Begins again, further back from a seq than before. Says whether the log has something there.
    fn begin(&mut self, kept: &Kept, from: u64) -> bool {
        let Some((seq, position)) = kept.waypoints.before(from, self.back) else { return false };
        self.begun = Some(seq);
        self.back *= 2;
        self.position = position;
        self.conversation = none_yet();
        true
    }

    fn found(&self) -> OlderLetters {
        let mut letters: Vec<_> = self.conversation.letters().cloned().collect();
        let has_more = letters.len() > limits::WEB_OLDER;
        letters.drain(..letters.len().saturating_sub(limits::WEB_OLDER));
        OlderLetters { before: self.before, letters, has_more }
    }
}

/// One more than a page tells whether there are others.
fn none_yet() -> Conversation {
    Conversation::new(limits::WEB_OLDER + 1, limits::WINDOW_MESSAGE_CHARS)
}
