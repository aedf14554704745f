//! Messages that the snapshot does not hold: those of a thread, and older ones.

use crate::bus::storage::LogError;
use crate::bus::storage::file::Follower;
use crate::domain::limits;
use crate::reader::walk;
use crate::view::{Conversation, Letter};
use crate::web::pages::OlderLetters;

/// The most messages of a thread that are held while the log is read.
const MOST_OF_THREAD: usize = 20_000;

/// Returns the messages of a thread, or about a request or a task, oldest first. Reads the log in parts from its end back, until it has
/// the message that the thread begins with.
pub(super) fn thread_letters(bus: &mut Follower, id: &str) -> Result<Vec<Letter>, LogError> {
    let is_about = |letter: &Letter| {
        letter.thread_id == id
            || letter.message_id == id
            || letter.request_id.as_deref() == Some(id)
            || letter.task_id.as_deref() == Some(id)
    };
    from_the_end(bus, MOST_OF_THREAD, &is_about, |conversation, is_all| {
        let letters: Vec<_> = conversation.letters().cloned().collect();
        let has_first = letters.iter().any(|letter| letter.message_id == letter.thread_id);
        (has_first || is_all)
            .then(|| letters[letters.len().saturating_sub(limits::WINDOW_HISTORY)..].to_vec())
    })
}

/// Returns the page of messages before a seq.
pub(super) fn older_letters(bus: &mut Follower, before: u64) -> Result<OlderLetters, LogError> {
    let is_older = |letter: &Letter| letter.seq < before && letter.kind != "notice";
    // One more tells whether there are others.
    from_the_end(bus, limits::WEB_OLDER + 1, &is_older, |conversation, is_all| {
        let mut letters: Vec<_> = conversation.letters().cloned().collect();
        let has_more = letters.len() > limits::WEB_OLDER;
        (has_more || is_all).then(|| {
            letters.drain(..letters.len().saturating_sub(limits::WEB_OLDER));
            OlderLetters { before, letters, has_more }
        })
    })
}

/// Folds the wanted messages of the last parts of the log, twice as many parts each time, until something is found.
fn from_the_end<T>(
    bus: &mut Follower,
    most: usize,
    is_wanted: &dyn Fn(&Letter) -> bool,
    find: impl Fn(&Conversation, bool) -> Option<T>,
) -> Result<T, LogError> {
    let parts = bus.parts()?;
    let mut back = 1;
    loop {
        let first = parts.len().saturating_sub(back);
        let from = parts.get(first).copied().unwrap_or_default();
        let mut conversation = Conversation::new(most, limits::WINDOW_MESSAGE_CHARS);
        walk(bus, from, &mut |entry, state, texts| {
            conversation.take_some(entry, state, texts, is_wanted);
        })?;
        if let Some(found) = find(&conversation, first == 0) {
            return Ok(found);
        }
        back *= 2;
    }
}
