//! The messages of a thread, by the id of any of them, or about a request or a task: a walk over the parts of the log in which its id
//! stands. An id that stands nowhere costs no walk.

use super::kept_places::{Kept, VAGUE_ENTRIES};
use crate::bus::event::LogPosition;
use crate::bus::storage::LogError;
use crate::bus::storage::file::Follower;
use crate::domain::ids::{MessageId, RequestId, TaskId};
use crate::domain::limits;
use crate::reader::LogTexts;
use crate::view::{Conversation, Letter};

/// The most messages of a thread that are held while the log is read.
const MOST: usize = 20_000;

pub(in crate::web::bus_reader) struct ThreadWalk {
    id: String,
    phase: Phase,
    /// The parts of the log, oldest first.
    parts: Vec<LogPosition>,
    /// Those in which the id may stand.
    holding: Vec<LogPosition>,
    /// How many of these, from the last one back, are read.
    back: usize,
    position: LogPosition,
    conversation: Conversation,
    /// How many entries were read after the last of these.
    after: usize,
}

enum Phase {
    New,
    /// Looks in which parts the id stands: so many are left.
    Looking(usize),
    Reading,
}

impl ThreadWalk {
    pub(super) fn of(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            phase: Phase::New,
            parts: Vec::new(),
            holding: Vec::new(),
            back: 1,
            position: LogPosition::default(),
            conversation: none_yet(),
            after: 0,
        }
    }

    pub(super) fn step(
        &mut self,
        bus: &mut Follower,
        kept: &Kept,
    ) -> Result<Option<Vec<Letter>>, LogError> {
        match self.phase {
            Phase::New => {
                if !is_id(&self.id) {
                    return Ok(Some(Vec::new()));
                }
                if let Some(thread) = known_thread(bus, &self.id) {
                    self.id = thread;
                }
                self.parts = bus.parts()?;
                self.phase = Phase::Looking(self.parts.len());
                Ok(None)
            }
            Phase::Looking(left) => self.look(bus, left),
            Phase::Reading => self.read(bus, kept),
        }
    }

    fn look(&mut self, bus: &mut Follower, left: usize) -> Result<Option<Vec<Letter>>, LogError> {
        let Some(next) = left.checked_sub(1) else {
            self.holding.reverse();
            if self.holding.is_empty() {
                return Ok(Some(Vec::new()));
            }
            self.begin();
            return Ok(None);
        };
        let part = self.parts[next];
        if bus.may_hold(part, &self.id)? {
            self.holding.push(part);
        }
        self.phase = Phase::Looking(next);
        Ok(None)
    }

    fn begin(&mut self) {
        let first = self.holding.len().saturating_sub(self.back);
        self.position = self.holding.get(first).copied().unwrap_or_default();
        self.conversation = none_yet();
        self.after = 0;
        self.phase = Phase::Reading;
    }

    fn read(&mut self, bus: &mut Follower, kept: &Kept) -> Result<Option<Vec<Letter>>, LogError> {
        let (entries, next) = bus.entries_after(self.position, kept.entries)?;
        let id = self.id.as_str();
        let is_about = |letter: &Letter| {
            letter.thread_id == id
                || letter.message_id == id
                || letter.request_id.as_deref() == Some(id)
                || letter.task_id.as_deref() == Some(id)
        };
        let (state, texts) = bus.state_and_texts();
        let mut texts = LogTexts(texts);
        for (_, entry) in &entries {
            self.conversation.take_some(entry, state, &mut texts, &is_about);
        }
        let is_end = entries.is_empty();
        let last = self.holding.last().map_or(0, |part| part.segment);
        if !is_end && self.position.segment <= last {
            self.position = next;
            return Ok(None);
        }
        self.position = next;
        let letters = || self.conversation.letters();
        let has_first = letters().any(|letter| letter.message_id == letter.thread_id);
        let is_enough = has_first || letters().count() >= limits::WINDOW_HISTORY;
        if !is_enough && self.back < self.holding.len() {
            self.back *= 2;
            self.begin();
            return Ok(None);
        }
        self.after += entries.len();
        if self.after > VAGUE_ENTRIES {
            self.conversation.give_up_vague();
        }
        if !is_end && !self.conversation.is_settled(state) {
            return Ok(None);
        }
        if let Some(thread) = self.thread_of_asked() {
            *self = Self::of(&thread);
            return Ok(None);
        }
        let shown = {
            let all: Vec<_> = self.conversation.letters().cloned().collect();
            all[all.len().saturating_sub(limits::WINDOW_HISTORY)..].to_vec()
        };
        Ok(Some(shown))
    }

    /// Returns the thread of the message that was asked for, if that is a later one of it: one that the state has forgotten.
    fn thread_of_asked(&self) -> Option<String> {
        let mut letters = self.conversation.letters();
        let asked = letters.find(|letter| letter.message_id == self.id)?;
        (asked.thread_id != self.id).then(|| asked.thread_id.clone())
    }
}

/// Returns the thread of a message that the state knows.
fn known_thread(bus: &Follower, id: &str) -> Option<String> {
    let message = bus.state().message(&MessageId::parse(id).ok()?)?;
    Some(message.thread.to_string())
}

/// Says whether a text is an id of something that a message may be about.
fn is_id(text: &str) -> bool {
    MessageId::parse(text).is_ok() || RequestId::parse(text).is_ok() || TaskId::parse(text).is_ok()
}

fn none_yet() -> Conversation {
    Conversation::new(MOST, limits::WINDOW_MESSAGE_CHARS)
}
