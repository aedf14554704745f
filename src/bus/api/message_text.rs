//! A message as a member reads it: its header with its text or a part of that.

use serde_json::{Map, Value};

use super::bus::Bus;
use crate::bus::error::BusError;
use crate::bus::event::Envelope;
use crate::bus::rules::Refusal;
use crate::bus::state::{Message, State};
use crate::bus::storage::stored_text::{CONTEXT_HEADING, RequestTexts};
use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::messaging::{Attached, Attachment, MessageKind};
use crate::domain::name::Name;

/// A message with a part of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedMessage {
    /// All but the text.
    pub header: Message,
    /// The text from `offset` on, up to some limit.
    pub text: String,
    /// Where the text begins, in bytes of the whole.
    pub offset: usize,
    /// The length of the whole text in bytes.
    pub total: usize,
    /// Why the text is lost, if it is.
    pub lost: Option<String>,
    /// Whether it was delivered to this reader before.
    pub is_again: bool,
    /// What it has beside its text, where it has anything.
    pub more: Option<Box<Envelope>>,
}

/// The beginning of a request's two texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHead {
    pub description: String,
    /// The knowledge so far.
    pub context: Option<String>,
    /// Where the rest begins in the text of the request's message, if there is a rest.
    pub next_offset: Option<usize>,
}

impl RequestTexts {
    /// Returns what fits into `max` bytes of text.
    pub fn head(&self, max: usize) -> RequestHead {
        let (_, description) = shown_part(&self.description, 0, max);
        let mut head =
            RequestHead { description: description.to_owned(), context: None, next_offset: None };
        if description.len() < self.description.len() {
            head.next_offset = Some(description.len());
            return head;
        }
        if let Some(whole) = &self.context {
            let (_, context) = shown_part(whole, 0, max.saturating_sub(shown_len(description)));
            let end = description.len() + CONTEXT_HEADING.len() + context.len();
            head.next_offset = (context.len() < whole.len()).then_some(end);
            head.context = Some(context.to_owned());
        }
        head
    }
}

impl LoadedMessage {
    /// Returns its length in an answer, in bytes.
    pub fn shown_len(&self) -> usize {
        limits::HEADER_BYTES + shown_len(&self.text) + self.envelope_len()
    }

    /// Returns the length in an answer of what it has beside its text.
    fn envelope_len(&self) -> usize {
        let Some(more) = &self.more else { return 0 };
        let payload = self.shown_payload().map_or(0, str_len);
        let with_texts = self.shows_attached_texts();
        let attached = more.attachments.iter().map(|one| attachment_len(one, with_texts));
        payload
            + attached.sum::<usize>()
            + more.reference.as_deref().map_or(0, shown_len)
            + limits::HEADER_BYTES
    }

    /// Returns its payload as JSON, if that is shown with the message.
    pub fn shown_payload(&self) -> Option<&Map<String, Value>> {
        let more = self.more.as_ref()?;
        let payload = more.payload.as_ref()?;
        (more.payload_bytes() <= limits::SHOWN_PAYLOAD_BYTES as u64).then_some(payload)
    }

    /// Returns the length of its payload as JSON, if that is too long to be shown with the message.
    pub fn long_payload_bytes(&self) -> Option<u64> {
        let more = self.more.as_ref().filter(|more| more.payload.is_some())?;
        self.shown_payload().is_none().then(|| more.payload_bytes())
    }

    /// Says whether the texts that are attached to it are shown with it.
    pub fn shows_attached_texts(&self) -> bool {
        let attached = self.more.iter().flat_map(|more| &more.attachments);
        let bytes: u64 = attached.map(Attachment::inline_bytes).sum();
        bytes <= limits::SHOWN_PAYLOAD_BYTES as u64
    }

    /// Cuts its text to at most `max` bytes of an answer.
    pub(crate) fn shorten(&mut self, max: usize) {
        let max = max.saturating_sub(self.envelope_len());
        let kept = shown_part(&self.text, 0, max).1.len();
        self.text.truncate(kept);
    }

    /// Returns where the rest of the text begins, if there is a rest.
    pub fn next_offset(&self) -> Option<usize> {
        let end = self.offset + self.text.len();
        (end < self.total).then_some(end)
    }
}

fn str_len(payload: &Map<String, Value>) -> usize {
    Value::Object(payload.clone()).to_string().len()
}

/// Returns the length of an attachment in an answer.
fn attachment_len(attachment: &Attachment, with_text: bool) -> usize {
    let Attachment { name, mime_type, holds, .. } = attachment;
    let held = match holds {
        Attached::Text(text) if with_text => shown_len(text),
        Attached::File(file) => shown_len(&file.path),
        Attached::Text(_) | Attached::Name => 0,
    };
    let mime_type = mime_type.as_deref().map_or(0, shown_len);
    limits::ATTACHMENT_BYTES + shown_len(name) + mime_type + held
}

/// Returns the part of a text from `offset` on that has at most `max` bytes, whole characters only.
pub fn part(text: &str, offset: usize, max: usize) -> (usize, &str) {
    let begin = floor(text, offset.min(text.len()));
    let mut end = floor(text, begin.saturating_add(max).min(text.len()));
    if end == begin && begin < text.len() {
        // A limit below one character still makes progress.
        end = begin + text[begin..].chars().next().map_or(0, char::len_utf8);
    }
    (begin, &text[begin..end])
}

/// Returns the part of a text from `offset` on that has at most `max` bytes as JSON writes them, whole characters only.
pub fn shown_part(text: &str, offset: usize, max: usize) -> (usize, &str) {
    let (begin, rest) = part(text, offset, max);
    let mut shown = 0;
    for (at, char) in rest.char_indices() {
        shown += shown_bytes(char);
        // A limit below one character still makes progress.
        if shown > max && at > 0 {
            return (begin, &rest[..at]);
        }
    }
    (begin, rest)
}

/// Returns how many bytes JSON writes for a text.
pub fn shown_len(text: &str) -> usize {
    text.chars().map(shown_bytes).sum()
}

fn shown_bytes(char: char) -> usize {
    match char {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        other => other.len_utf8(),
    }
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

impl Bus {
    /// Reads a message's text from `offset` on, at most `max` bytes of JSON. An error may be temporary. A lost text is no error: the
    /// message is shown without it.
    pub fn load_message(
        &self,
        header: Message,
        reader: &Name,
        offset: usize,
        max: usize,
    ) -> Result<LoadedMessage, BusError> {
        let mut more = self.envelope(&header)?;
        if let Some(more) = &mut more {
            // To a reader who never had that message, its id means nothing.
            more.supersedes.take_if(|before| !self.look(|state| knew(state, before, reader)));
        }
        let whole = match self.text(header.body) {
            Err(BusError::Log(why)) if why.is_lost_text() => {
                return Ok(LoadedMessage {
                    text: String::new(),
                    offset: 0,
                    total: 0,
                    lost: Some(why.to_string()),
                    is_again: false,
                    header,
                    more,
                });
            }
            read => read?,
        };
        let total = whole.len();
        let mut loaded = LoadedMessage {
            text: String::new(),
            offset: 0,
            total,
            lost: None,
            is_again: false,
            header,
            more,
        };
        let (offset, text) = shown_part(&whole, offset, max.saturating_sub(loaded.envelope_len()));
        (loaded.offset, loaded.text) = (offset, text.to_owned());
        Ok(loaded)
    }

    /// Reads what a message has beside its text; none if the bus no longer has it.
    fn envelope(&self, header: &Message) -> Result<Option<Box<Envelope>>, BusError> {
        // A request has only its urgency beside its text.
        if header.more.is_none() || header.kind == MessageKind::Request {
            return Ok(None);
        }
        match self.sent_event(header.body) {
            Err(BusError::Log(why)) if why.is_lost_text() => Ok(None),
            read => Ok(read?.more),
        }
    }

    /// Returns the payload of a message as JSON.
    pub fn payload_text(&self, header: &Message) -> Result<Option<String>, BusError> {
        let payload = self.envelope(header)?.and_then(|more| more.payload);
        Ok(payload.map(|payload| Value::Object(payload).to_string()))
    }

    /// Returns what is attached to a message.
    pub fn attachments(&self, header: &Message) -> Result<Vec<Attachment>, BusError> {
        Ok(self.envelope(header)?.map(|more| more.attachments).unwrap_or_default())
    }

    /// Finds a message that a member sent or received, even one that the state has forgotten.
    pub fn find_message(&self, id: &MessageId, reader: &Name) -> Result<Message, BusError> {
        let known = self.look(|state| state.message(id).cloned());
        let found = match known {
            Some(message) => Some(message),
            None => self.past_message(id, reader)?,
        };
        let visible = found.filter(|message| message.is_readable_by(reader));
        visible.ok_or_else(|| Refusal::UnknownMessage { id: id.clone() }.into())
    }
}

/// Says whether a member can read a message, as far as the state still knows.
fn knew(state: &State, id: &MessageId, reader: &Name) -> bool {
    state.message(id).is_none_or(|message| message.is_readable_by(reader))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_request_begins_where_its_head_ends() {
        let texts = RequestTexts { description: "what".into(), context: Some("known".into()) };
        let whole = texts.clone().whole();
        for max in 1..9 {
            let head = texts.head(max);
            let rest = &whole[head.next_offset.unwrap()..];
            let shown = RequestTexts { description: head.description, context: head.context };
            assert_eq!(shown.whole() + rest, whole, "{max}");
        }
        assert_eq!(texts.head(9).next_offset, None);
        assert_eq!(texts.head(9).context.as_deref(), Some("known"));
    }

    #[test]
    fn a_shown_part_is_as_long_as_json_writes_it() {
        let text = "a\n\"\u{1}\\ß€ \u{7f}z";
        for offset in [0, 1, 3] {
            for max in 1..30 {
                let (_, part) = shown_part(text, offset, max);
                let written = serde_json::to_string(part).unwrap().len() - 2;
                assert_eq!(shown_len(part), written);
                assert!(written <= max || part.chars().count() == 1, "{part:?}");
            }
        }
        assert_eq!(shown_part(text, 0, 100), (0, text));
    }

    #[test]
    fn a_part_is_whole_characters_and_always_makes_progress() {
        assert_eq!(part("abc", 1, 1), (1, "b"));
        assert_eq!(part("aßc", 2, 1), (1, "ß"));
        assert_eq!(part("aßc", 0, 2), (0, "a"));
        assert_eq!(part("abc", 9, 9), (3, ""));
    }
}
