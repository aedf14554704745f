//! The last messages, decisions and happenings of a log, folded from its entries a few at a time.

use std::collections::VecDeque;
use std::sync::Arc;

use super::log_texts::LogTexts;
use crate::bus::event::LogPosition;
use crate::bus::storage::LogError;
use crate::bus::storage::file::Follower;
use crate::domain::limits;
use crate::view::{
    Conversation, Decided, Decisions, Happening, Happenings, KnownTexts, KnownWords, Letter,
    NoTexts, Stretch, Stretches, Topic,
};

/// How many entries are read at a time: the news of a team wait no longer than this takes.
const ENTRIES: usize = 256;

/// A history with fewer messages begins earlier in the log.
const ENOUGH: usize = 100;

/// The most parts of a log that are read from its end back. The rest is for `log` and `messages`.
const MOST_PARTS: usize = 8;

/// The last messages and happenings.
pub struct History {
    /// How many parts of the log it has, from its end.
    parts: usize,
    /// Whether the log has more before that.
    has_more: bool,
    position: LogPosition,
    conversation: Conversation,
    decisions: Decisions,
    /// What was read of disagreements that ended before the parts that it has.
    known: KnownWords,
    happenings: Happenings,
    last: VecDeque<Happening>,
    stretches: Stretches,
}

impl History {
    /// Begins with the last part of a log, and reads nothing yet.
    pub fn begin(bus: &mut Follower) -> Result<Self, LogError> {
        Self::of(bus, 1)
    }

    fn of(bus: &mut Follower, parts: usize) -> Result<Self, LogError> {
        let all = bus.parts()?;
        let first = all.len().saturating_sub(parts);
        Ok(Self {
            parts,
            has_more: first > 0,
            position: all.get(first).copied().unwrap_or_default(),
            conversation: Conversation::new(
                2 * limits::WINDOW_HISTORY,
                limits::WINDOW_MESSAGE_CHARS,
            ),
            decisions: Decisions::new(limits::WINDOW_DECIDED),
            known: KnownWords::default(),
            happenings: Happenings::default(),
            last: VecDeque::new(),
            stretches: Stretches::new(limits::WINDOW_HISTORY),
        })
    }

    /// Says whether the bus has entries that are not folded yet.
    pub fn is_behind(&self, bus: &Follower) -> bool {
        self.position < bus.position()
    }

    /// Folds the next entries. Says whether there were any.
    pub fn step(&mut self, bus: &mut Follower) -> Result<bool, LogError> {
        let (entries, next) = bus.entries_after(self.position, ENTRIES)?;
        let (state, texts) = bus.state_and_texts();
        let mut texts = LogTexts(texts);
        for (_, entry) in &entries {
            self.conversation.take(entry, state, &mut texts);
            self.decisions.take(entry, state, &mut texts);
            self.stretches.take(entry, state, &mut texts);
            let happenings = self.happenings.of(entry, state, &mut texts).into_iter();
            self.last.extend(happenings.filter(is_news));
        }
        self.last.drain(..self.last.len().saturating_sub(limits::WINDOW_HISTORY));
        if entries.is_empty() && next <= self.position {
            // Nothing more can be read now: the rest is damaged or being written.
            self.position = self.position.max(bus.position());
        } else {
            self.position = next;
        }
        if !self.is_behind(bus) && self.is_short() {
            *self = Self::of(bus, 2 * self.parts)?;
        }
        Ok(!entries.is_empty())
    }

    /// Reads texts of messages again that could not be read, each ever more seldom. Says whether one was found.
    pub fn read_again(&mut self, bus: &mut Follower) -> bool {
        let (_, texts) = bus.state_and_texts();
        self.conversation.read_again(&mut LogTexts(texts))
    }

    fn is_short(&self) -> bool {
        self.has_more && self.parts < MOST_PARTS && self.letters().len() < ENOUGH
    }

    /// Returns the last messages, oldest first, without notices of the bridge and farewells.
    pub fn letters(&self) -> Arc<Vec<Letter>> {
        let newest = self.conversation.letters().rev().filter(|letter| !letter.is_routine());
        let mut letters: Vec<_> = newest.take(limits::WINDOW_HISTORY).cloned().collect();
        letters.reverse();
        Arc::new(letters)
    }

    /// Returns what has been decided, the last first.
    pub fn decided(&mut self, bus: &mut Follower) -> Arc<Vec<Decided>> {
        let (state, texts) = bus.state_and_texts();
        let mut texts = KnownTexts { texts: &mut LogTexts(texts), known: &mut self.known };
        Arc::new(self.decisions.all(state, &mut texts))
    }

    /// Returns when members worked and waited: what has ended, by its end, and then what goes on.
    pub fn stretches(&self) -> Arc<Vec<Stretch>> {
        Arc::new(self.stretches.all())
    }

    /// Returns the last happenings, oldest first.
    pub fn happenings(&self) -> Arc<Vec<Happening>> {
        Arc::new(self.last.iter().cloned().collect())
    }
}

/// Leaves out what other places say as well: receipts, which stand beside their message, waits, which stand in the row of their member and
/// in the timeline, and notices of the bridge.
fn is_news(happening: &Happening) -> bool {
    let is_notice = happening.topic == Topic::Message
        && happening.members.first().is_some_and(|from| from == "bridge");
    !happening.topic.is_beside() && !is_notice
}

/// Returns the last stretches of a log: those that its last part tells of, without the words of their tasks.
pub fn last_stretches(bus: &mut Follower) -> Result<Vec<Stretch>, LogError> {
    let mut position = bus.parts()?.last().copied().unwrap_or_default();
    let mut stretches = Stretches::new(limits::WINDOW_HISTORY);
    while position < bus.position() {
        let (entries, next) = bus.entries_after(position, ENTRIES)?;
        for (_, entry) in &entries {
            stretches.take(entry, bus.state(), &mut NoTexts);
        }
        if entries.is_empty() || next <= position {
            break;
        }
        position = next;
    }
    Ok(stretches.all())
}
