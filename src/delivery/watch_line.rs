//! AnnouncedMessages: one line a message, for who is woken by a line and then reads the message itself. It hands nothing over.
//!
//! A line is made of others' words, and read by a model as the output of a program: so it is one line whatever they write, it
//! quotes them, and nothing in the quoted text can end the quotation.

use std::collections::BTreeSet;

use crate::bus::state::{Message, State};
use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::messaging::Audience;
use crate::domain::name::Name;
use crate::domain::text::visible_letters::is_invisible;

/// What every line ends with.
const NEXT: &str = "call check_messages";

/// Which messages it has rung for: for each once, as long as it is not read.
#[derive(Debug, Default)]
pub struct AnnouncedMessages {
    rung: BTreeSet<MessageId>,
}

impl AnnouncedMessages {
    /// Returns the unread messages of a name that it has not rung for, oldest first; it has now.
    ///
    /// What is handed to a call in the same append that sends it was never unread: nobody has to be woken for that.
    pub fn rings(&mut self, state: &State, name: &Name) -> Vec<Message> {
        self.rung.retain(|id| {
            let delivery = state.message(id).and_then(|message| message.delivery(name));
            delivery.is_some_and(|delivery| !delivery.is_final())
        });
        let fresh = state.unread(name).filter(|message| self.rung.insert(message.id.clone()));
        fresh.cloned().collect()
    }
}

/// Writes the line for one message: who, what, its id, and the beginning of its text.
pub fn line(message: &Message, reader: &Name, text: &str) -> String {
    let to = match &message.audience {
        Audience::All => "all",
        Audience::One(name) if name == reader => "you",
        Audience::One(name) => name.as_str(),
    };
    let (from, what, id) = (&message.from, message.kind.as_str(), &message.id);
    let begin = format!("[{from} → {to}] {what} {id}: \"");
    let end = format!("\" ({NEXT})");
    let room = limits::DOORBELL_CHARS
        .saturating_sub(begin.chars().count())
        .saturating_sub(end.chars().count());
    format!("{begin}{}{end}", quoted(text, room))
}

/// Writes one line for many messages that wait already.
pub fn many(messages: &[Message]) -> Option<String> {
    let oldest = messages.first()?;
    let (count, from, id) = (messages.len(), &oldest.from, &oldest.id);
    Some(format!("{count} unread messages, the oldest {id} from {from} ({NEXT})"))
}

/// Returns the beginning of a text, at most so many characters, as a part of a line between quotation marks.
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
                // The sign that it goes on takes the last place.
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
