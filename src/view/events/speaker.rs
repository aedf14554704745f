//! What the words of happenings have in common: names of sessions, and foreign texts, which are quoted and cut.

use crate::bus::event::{Body, MessageSent};
use crate::bus::state::State;
use crate::domain::ids::{MessageId, SessionId, TaskId};
use crate::domain::limits;
use crate::domain::messaging::Author;
use crate::domain::name::Name;
use crate::domain::text::visible_letters::quoted;
use crate::domain::workflow::own_words;
use crate::view::{Texts, no_text};

/// Puts events into words.
pub(super) struct Speaker<'a> {
    /// The state of the same moment, or a later one.
    pub(super) state: &'a State,
    pub(super) texts: &'a mut dyn Texts,
    /// Says of which messages nobody may read the text any more.
    pub(super) is_lost: &'a dyn Fn(&MessageId) -> bool,
}

impl Speaker<'_> {
    /// Returns the name of a session's member, if it is still known.
    pub(super) fn name(&self, session: SessionId) -> Option<String> {
        self.state.name_of(session).map(ToString::to_string)
    }

    /// Returns the name of a session's member, or words for one that has been forgotten.
    pub(super) fn named(&self, session: SessionId) -> String {
        self.name(session).unwrap_or_else(|| "a member that left".to_owned())
    }

    /// Returns the agent of a task, if it is still known.
    pub(super) fn agent_of(&self, task: &TaskId) -> Option<String> {
        self.state.task(task).map(|task| task.agent.to_string())
    }

    /// Quotes the beginning of a message, unless nobody may read it any more.
    pub(super) fn quote_message(&mut self, sent: &MessageSent) -> String {
        if (self.is_lost)(&sent.id) {
            return "(taken back, or expired unread)".to_owned();
        }
        self.quote(&sent.body)
    }

    /// Quotes the beginning of a text of an event.
    pub(super) fn quote(&mut self, body: &Body) -> String {
        let (text, lost) = self.texts.text_or_loss(body);
        text.map_or_else(|| no_text(lost.as_deref()), |text| quote(&text))
    }

    /// Quotes the beginning of a prompt: of a step its own words, without what it is given.
    pub(super) fn quote_prompt(&mut self, prompt: &Body) -> String {
        let (text, lost) = self.texts.text_or_loss(prompt);
        text.map_or_else(|| no_text(lost.as_deref()), |text| quote(&own_words(&text)))
    }
}

/// Returns who asked for something: a member, or the person at the command line.
pub(super) fn asker(by: &Name, human: bool) -> String {
    if human { Author::Human.to_string() } else { by.to_string() }
}

/// Quotes the beginning of foreign words.
pub(super) fn quote(words: &str) -> String {
    quoted(words, limits::PROMPT_CHARS)
}

/// Returns a detail for the end of a sentence, if there is one.
pub(super) fn after_colon(detail: Option<&str>) -> String {
    let detail = detail.map(str::trim).filter(|detail| !detail.is_empty());
    detail.map(|detail| format!(": {}", quote(detail))).unwrap_or_default()
}
