//! The frame in which a model is shown other members' words: as theirs, never as its user's.
//!
//! Nothing in a message can close the frame: its first line stands behind the speaker's name, every further line is indented,
//! and what acts on a reader instead of being seen (control characters, what turns or hides letters) is made visible.

use std::fmt::Write as _;

use super::recipient::Reader;
use crate::bus::LoadedMessage;
use crate::domain::message::{Audience, MessageKind, Priority};
use crate::domain::text::visible_letters::seen;

/// The first line.
pub const BEGIN: &str = "--- Messages from other agents ---";
/// The last line.
pub const END: &str = "--- End messages ---";

/// Writes messages for their reader. `more` unread ones are left for `check_messages`.
pub fn frame<'r>(letters: &[LoadedMessage], reader: impl Into<Reader<'r>>, more: usize) -> String {
    let reader = reader.into();
    let mut text = format!("{BEGIN}\n");
    for letter in letters {
        text.push_str(&line(letter, reader));
        text.push('\n');
    }
    if more > 0 {
        let tool = reader.tool("check_messages");
        writeln!(text, "{more} more: call {tool}").expect("writing to a string succeeds");
    }
    text.push_str(END);
    text
}

/// Writes one message: who to whom, what it is where that matters, and its words.
fn line(letter: &LoadedMessage, reader: Reader<'_>) -> String {
    let header = &letter.header;
    let to = match &header.audience {
        Audience::All => "all".to_owned(),
        Audience::One(name) if name == reader.name() => "you".to_owned(),
        Audience::One(name) => name.to_string(),
    };
    let what = match (header.kind, &header.request) {
        (MessageKind::Request, Some(request)) => {
            let tool = reader.tool("claim_request");
            format!("request {request} (claim it with {tool}): ")
        }
        (MessageKind::Response, Some(request)) => format!("response to {request}: "),
        _ => String::new(),
    };
    let urgent = match header.priority {
        Priority::Urgent => "urgent: ",
        Priority::Normal => "",
    };
    let text = match &letter.lost {
        Some(why) => format!("(its text cannot be shown: {why})"),
        None => indented(&letter.text),
    };
    let mut line = format!("[{} → {to}] {urgent}{what}{text}", header.from);
    if let Some(next) = letter.next_offset() {
        let (id, tool) = (&header.id, reader.tool("check_messages"));
        write!(
            line,
            "\n  [{} of {} bytes shown: {tool} with id {id} and offset {next} returns the rest]",
            next, letter.total
        )
        .expect("writing to a string succeeds");
    }
    line
}

/// Indents every line but the first, and makes visible what is not seen.
pub fn indented(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    // Everything that some reader takes for the end of a line is one.
    let lines =
        text.trim_end().split(['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}']);
    for (index, line) in lines.enumerate() {
        if index > 0 {
            shown.push_str("\n  ");
        }
        shown.push_str(&seen(line));
    }
    shown
}
