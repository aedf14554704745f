//! The frame around messages, which shows a model that other members wrote them, and not its user. A message of the person at the
//! command line says so in its line.
//!
//! No message can close the frame: its first line follows the sender's name, every further line is indented, and invisible characters
//! (control characters, and those that turn or hide letters) are replaced by visible ones.

use std::fmt::Write as _;

use serde_json::Value;

use super::recipient::Reader;
use super::thread_context::{Before, Mail};
use crate::bus::LoadedMessage;
use crate::bus::state::Message;
use crate::domain::limits;
use crate::domain::messaging::{Attached, Audience, Author, Group, MessageKind, Signal};
use crate::domain::text::visible_letters::{one_line, quoted, seen};

/// The first line.
pub const BEGIN: &str = "--- Messages from other agents ---";
/// The first line if the person at the command line wrote one of the messages.
pub const BEGIN_WITH_HUMAN: &str = "--- Messages from other agents and your user ---";
/// The last line.
pub const END: &str = "--- End messages ---";

/// The mark of a message that its reader was given before, without a proof that it read it: it is to look before it does the same twice.
const AGAIN: &str = ", again: you may already have acted on it";

/// What follows a frame with a message of the person at the command line.
const ABOUT_HUMAN: &str = " `human` is your user, who wrote at the command line: they read the result \
                           of your task, and what you send to `human`.";

/// What follows a frame with a message of a member of another project.
const ABOUT_ELSEWHERE: &str = " A name with a colon is that of a member of another project, which \
                               speaks for nobody here: send_message to it answers.";

/// Returns what to add behind a frame about its authors, beginning with a space: nothing if all of them are members.
pub(super) fn about_authors(messages: &[LoadedMessage]) -> String {
    let human = if has_human(messages) { ABOUT_HUMAN } else { "" };
    let is_elsewhere = |message: &LoadedMessage| message.header.from.elsewhere().is_some();
    let elsewhere = if messages.iter().any(is_elsewhere) { ABOUT_ELSEWHERE } else { "" };
    format!("{human}{elsewhere}")
}

fn has_human<'m>(messages: impl IntoIterator<Item = &'m LoadedMessage>) -> bool {
    messages.into_iter().any(|message| message.header.from == Author::Human)
}

/// Frames messages for their reader, each behind what is earlier in its thread, where that is known. `more` is the number of unread messages left for `check_messages`.
pub fn frame<'m, 'r>(
    mail: impl Into<Mail<'m>>,
    reader: impl Into<Reader<'r>>,
    more: usize,
) -> String {
    let (mail, reader) = (mail.into(), reader.into());
    let lines = mail.messages.iter().flat_map(|message| {
        let before = mail.before(message).into_iter();
        let before = before.flat_map(move |before| earlier_lines(before, message, reader));
        before.chain([line(message, reader)])
    });
    framed(begin(mail.all()), lines, reader, more)
}

/// Frames messages the same way, each behind its id, for a reader who may have to name the one that it answers.
pub fn frame_with_ids<'r>(
    messages: &[LoadedMessage],
    reader: impl Into<Reader<'r>>,
    more: usize,
) -> String {
    let reader = reader.into();
    let lines = messages.iter().map(|message| {
        let id = &message.header.id;
        format!("{id} {}", line(message, reader))
    });
    framed(begin(messages), lines, reader, more)
}

fn begin<'m>(messages: impl IntoIterator<Item = &'m LoadedMessage>) -> &'static str {
    if has_human(messages) { BEGIN_WITH_HUMAN } else { BEGIN }
}

fn framed(
    begin: &str,
    lines: impl Iterator<Item = String>,
    reader: Reader<'_>,
    more: usize,
) -> String {
    let mut text = format!("{begin}\n");
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
    if more > 0 {
        let tool = reader.tool("check_messages");
        writeln!(text, "{more} more: call {tool}").expect("writing to a string succeeds");
    }
    text.push_str(END);
    text
}

/// Writes the earlier messages of a thread, which need no answer now.
fn earlier_lines(before: &Before, of: &LoadedMessage, reader: Reader<'_>) -> Vec<String> {
    let left_out = (before.left_out > 0).then(|| {
        let (tool, id) = (reader.tool("check_messages"), &of.header.id);
        format!("  [{} earlier in this thread: {tool} with thread {id}]", before.left_out)
    });
    let lines = before.messages.iter().map(|message| {
        let authors = authors(message, reader, "");
        format!("{authors} earlier: {}{}", shown_text(message), rest(message, reader))
    });
    left_out.into_iter().chain(lines).collect()
}

/// Writes one message: sender, reader, kind where that matters, and text.
fn line(message: &LoadedMessage, reader: Reader<'_>) -> String {
    let header = &message.header;
    let what = match (header.kind, &header.request) {
        (MessageKind::Request, Some(request)) => {
            let tool = reader.tool("claim_request");
            format!("request {request} (claim it with {tool}): ")
        }
        (MessageKind::Response, Some(request)) => format!("response to {request}: "),
        _ => String::new(),
    };
    let again = if message.is_again { AGAIN } else { "" };
    let authors = authors(message, reader, again);
    let (labels, text) = (labels(message), shown_text(message));
    let (beside, rest) = (beside_the_text(message, reader), rest(message, reader));
    format!("{authors} {labels}{what}{text}{beside}{rest}")
}

/// Writes who sent a message, and to whom, with a mark behind it.
fn authors(message: &LoadedMessage, reader: Reader<'_>, mark: &str) -> String {
    let from = match &message.header.from {
        Author::Human => "human, your user at the command line".to_owned(),
        Author::Member(name) if name == reader.name() => "you".to_owned(),
        Author::Elsewhere(member) => format!("{member}, of another project"),
        from => from.to_string(),
    };
    let to = match &message.header.audience {
        Audience::One(name) if name == reader.name() => "you".to_owned(),
        Audience::Group(Group::Human) => "human, your user".to_owned(),
        audience => audience.to_string(),
    };
    format!("[{from} → {to}{mark}]")
}

fn shown_text(message: &LoadedMessage) -> String {
    match &message.lost {
        Some(why) => format!("(its text cannot be shown: {why})"),
        None => indented(&message.text),
    }
}

/// Says where the rest of a text is.
fn rest(message: &LoadedMessage, reader: Reader<'_>) -> String {
    let Some(next) = message.next_offset() else {
        return String::new();
    };
    let (id, tool, total) = (&message.header.id, reader.tool("check_messages"), message.total);
    format!(
        "\n  [{next} of {total} bytes shown: {tool} with id {id} and offset {next} returns the rest]"
    )
}

fn labels(message: &LoadedMessage) -> String {
    let labels = label_words(&message.header);
    if labels.is_empty() { String::new() } else { format!("{}: ", labels.join(", ")) }
}

/// Returns what a message is for, and how much it matters where that is not as usual, in words.
pub(in crate::delivery) fn label_words(header: &Message) -> Vec<String> {
    // That the person says it stands before it.
    let signal = header.signal().map(Signal::as_str).filter(|word| *word != Signal::RELAY);
    let priority = (!header.priority.is_normal()).then(|| header.priority.as_str());
    signal.into_iter().chain(priority).map(seen).collect()
}

/// Writes what a message has beside its text, each on a line of its own.
fn beside_the_text(message: &LoadedMessage, reader: Reader<'_>) -> String {
    let (header, mut lines) = (&message.header, String::new());
    let Some(more) = &header.more else {
        return lines;
    };
    let mut add = |line: String| {
        lines.push_str("\n  ");
        lines.push_str(&line);
    };
    if let Some(reference) = &more.reference {
        add(format!("[about: {}]", quoted(&seen(reference), limits::REFERENCE_BYTES)));
    }
    if let Some(before) = message.more.as_ref().and_then(|more| more.supersedes.as_ref()) {
        add(format!("[takes the place of {before}]"));
    }
    if let Some(payload) = message.shown_payload() {
        add(format!("[payload: {}]", seen(&Value::Object(payload.clone()).to_string())));
    }
    let (id, read) = (&header.id, reader.tool("check_messages"));
    if let Some(bytes) = message.long_payload_bytes() {
        add(format!("[payload of {bytes} bytes: {read} with id {id}/payload returns it]"));
    }
    let attached = message.more.iter().flat_map(|more| &more.attachments).zip(1..);
    for (attachment, number) in attached {
        let (name, what) = (
            quoted(&one_line(&attachment.name), limits::REFERENCE_BYTES),
            one_line(&attachment.in_words()),
        );
        let what = if what.is_empty() { what } else { format!(" ({what})") };
        let how = match attachment.holds {
            Attached::Name => String::new(),
            Attached::Text(_) | Attached::File(_) => {
                format!(": {read} with id {id}/{number} returns it")
            }
        };
        add(format!("[attachment {number}: {name}{what}{how}]"));
    }
    if header.is_copy_for(reader.name()) {
        add("[a copy for you: it mentions you]".to_owned());
    } else if header.audience.is_human() {
        let send = reader.tool("send_message");
        let answer = more.response_seconds.map(|seconds| {
            format!(", who is to answer within {seconds} s: {send} with reply_to {id} passes it on")
        });
        add(format!("[for your user{}]", answer.unwrap_or_else(|| ": tell them".to_owned())));
    } else if let Some(seconds) = more.response_seconds {
        let send = reader.tool("send_message");
        add(format!("[wants an answer within {seconds} s: {send} with reply_to {id}]"));
    }
    lines
}

/// Indents every line but the first, and makes invisible characters visible.
pub fn indented(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    // Every character that some reader takes for a line break is one here.
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
