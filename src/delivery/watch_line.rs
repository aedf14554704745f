//! One line per message, for a reader that a line wakes and that then reads the message itself. A line delivers nothing.
//!
//! A model reads it as the output of a program although it contains other members' text. So it is a single line whatever they write, it
//! quotes them, and nothing in the quoted text can end the quotation.

use std::collections::{BTreeMap, BTreeSet};

use super::message_frame::label_words;
use crate::bus::state::{Message, State};
use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::messaging::Audience;
use crate::domain::name::Name;
use crate::domain::text::visible_letters::is_invisible;

/// The end of every line.
const NEXT: &str = "call check_messages";

/// The messages that a line has announced: each once, until it is read.
#[derive(Debug, Default)]
pub struct AnnouncedMessages {
    announced: BTreeSet<MessageId>,
    /// When those that no line has announced were first found, in milliseconds of a clock that only goes on.
    found: BTreeMap<MessageId, u64>,
}

impl AnnouncedMessages {
    /// Returns the unread messages of a member that are not announced yet, oldest first, and marks them as announced.
    ///
    /// A message that a waiting call received at once was never unread, and needs no line. News of who has come and left is worth none.
    /// A hook or a call that is about to take a message gets `patience_ms` for it: two would tell the same.
    pub fn announce(
        &mut self,
        state: &State,
        name: &Name,
        (now_ms, patience_ms): (u64, u64),
    ) -> Vec<Message> {
        self.announced.retain(|id| {
            let delivery = state.message(id).and_then(|message| message.delivery(name));
            delivery.is_some_and(|delivery| !delivery.is_final())
        });
        let unread = state.unread(name).filter(|message| !message.is_presence());
        let waits: Vec<_> =
            unread.filter(|message| !self.announced.contains(&message.id)).collect();
        let before = std::mem::take(&mut self.found);
        let mut due = Vec::new();
        for message in waits {
            let since = before.get(&message.id).copied().unwrap_or(now_ms);
            if now_ms.saturating_sub(since) >= patience_ms {
                self.announced.insert(message.id.clone());
                due.push(message.clone());
            } else {
                self.found.insert(message.id.clone(), since);
            }
        }
        due
    }

    /// Returns when the next message is to be announced, if one waits.
    pub fn next_due_ms(&self, patience_ms: u64) -> Option<u64> {
        self.found.values().min().map(|since| since.saturating_add(patience_ms))
    }
}

/// Writes the line for one message: sender, address, kind, id, signal and priority where it has them, and the beginning of the text.
pub fn line(message: &Message, reader: &Name, text: &str) -> String {
    let to = match &message.audience {
        Audience::One(name) if name == reader => "you".to_owned(),
        audience => audience.to_string(),
    };
    let (from, what, id) = (&message.from, message.kind.as_str(), &message.id);
    let labels = label_words(message).into_iter().map(|label| format!(", {label}"));
    let begin = format!("[{from} → {to}] {what} {id}{}: \"", labels.collect::<String>());
    let end = format!("\" ({NEXT})");
    let room = limits::DOORBELL_CHARS
        .saturating_sub(begin.chars().count())
        .saturating_sub(end.chars().count());
    format!("{begin}{}{end}", quoted(text, room))
}

/// Writes one line for many unread messages.
pub fn many(messages: &[Message]) -> Option<String> {
    let oldest = messages.first()?;
    let (count, from, id) = (messages.len(), &oldest.from, &oldest.id);
    Some(format!("{count} unread messages, the oldest {id} from {from} ({NEXT})"))
}

/// Returns the first `room` characters of a text at most, fit for quotation marks in a line.
fn quoted(text: &str, room: usize) -> String {
    let mut shown = String::new();
    let mut count = 0;
    for word in text.split(|c: char| c.is_whitespace() || is_invisible(c)) {
        if word.is_empty() {
            continue;
        }
        let gap = (count > 0).then_some(' ');
        for c in gap.into_iter().chain(word.chars()) {
            if count == room {
                // The ellipsis takes the place of the last character.
                shown.pop();
                shown.push('…');
                return shown;
            }
            shown.push(if c == '"' { '\'' } else { c });
            count += 1;
        }
    }
    shown
}
