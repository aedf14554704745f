//! `messages`: what the members wrote to each other, and how far each message has come.

use clap::Args;

use super::open_to_look::{Place, print_json};
use crate::bus::storage::file::Follower;
use crate::cli::{Failure, output};
use crate::domain::limits;
use crate::domain::text::counted::counted_as;
use crate::domain::text::visible_letters::quoted;
use crate::domain::time::iso8601;
use crate::reader::walk;
use crate::view::{Conversation, Letter, Receipt, ReceiptStatus};

/// The most messages that are held while the log is read: a few megabytes.
const MOST_HELD: usize = 10_000;

/// The most receipts of a message that have a line for people; a broadcast may have hundreds.
const SHOWN_RECEIPTS: usize = 8;

/// Which messages to show.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge messages                  the last 20 messages
  cli-team-bridge messages --unseen         those that somebody has not seen yet
  cli-team-bridge messages --member codex   those from and to one member")]
pub(crate) struct MessagesArguments {
    #[command(flatten)]
    place: Place,
    /// Only messages from or to this member.
    #[arg(long, value_name = "NAME")]
    member: Option<String>,
    /// Only messages of this thread, or about this request or task.
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// Only messages that a recipient has not seen yet.
    #[arg(long)]
    unseen: bool,
    /// Also the notices of the bridge, and its farewells to agents that are stopped.
    #[arg(long)]
    notices: bool,
    /// The most messages to show.
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    last: usize,
}

pub(crate) fn run(arguments: &MessagesArguments) -> Result<(), Failure> {
    let bus = arguments.place.open_once()?;
    let is_there = bus.is_some();
    let (letters, left_out) = match bus {
        Some(mut bus) => last(&mut bus, arguments)?,
        None => Default::default(),
    };
    if arguments.place.json {
        print_json(&letters);
        return Ok(());
    }
    for letter in &letters {
        for line in lines(letter) {
            output::say(&line);
        }
    }
    if letters.is_empty() && is_there {
        output::tell(if arguments.asks_for_some() {
            "No message fits what you ask for."
        } else {
            "Nobody has written a message yet."
        });
    }
    if left_out > 0 {
        let notices =
            counted_as(left_out, "unseen notice of the bridge", "unseen notices of the bridge");
        output::tell(&format!("Left out: {notices}; --notices shows them."));
    }
    Ok(())
}

impl MessagesArguments {
    fn asks_for_some(&self) -> bool {
        self.member.is_some() || self.thread.is_some() || self.unseen
    }
}

/// Returns the last messages that fit, oldest first, and how many unseen notices are left out if unseen messages are asked for. Reads the log in parts, from its end back, until it has enough.
fn last(
    bus: &mut Follower,
    arguments: &MessagesArguments,
) -> Result<(Vec<Letter>, usize), Failure> {
    let parts = bus.parts()?;
    let mut back = 1;
    loop {
        let first = parts.len().saturating_sub(back);
        let from = parts.get(first).copied().unwrap_or_default();
        let mut conversation = Conversation::new(MOST_HELD, limits::PROMPT_CHARS);
        walk(bus, from, &mut |entry, state, texts| conversation.take(entry, state, texts))?;
        let newest = conversation.letters().rev().filter(|letter| fits(letter, arguments));
        let mut letters: Vec<_> = newest.take(arguments.last).cloned().collect();
        if letters.len() >= arguments.last || first == 0 {
            letters.reverse();
            let left_out = |letter: &&Letter| {
                arguments.unseen
                    && is_hidden_notice(letter, arguments)
                    && is_wanted(letter, arguments)
            };
            return Ok((letters, conversation.letters().filter(left_out).count()));
        }
        back *= 2;
    }
}

fn fits(letter: &Letter, arguments: &MessagesArguments) -> bool {
    !is_hidden_notice(letter, arguments) && is_wanted(letter, arguments)
}

fn is_hidden_notice(letter: &Letter, arguments: &MessagesArguments) -> bool {
    !arguments.notices && letter.is_routine()
}

fn is_wanted(letter: &Letter, arguments: &MessagesArguments) -> bool {
    let is_unseen = |receipt: &Receipt| {
        matches!(
            receipt.status,
            ReceiptStatus::Queued | ReceiptStatus::Unread | ReceiptStatus::Delivered
        )
    };
    let is_of = |name: &String| letter.concerns(name);
    let is_about = |id: &String| {
        [
            Some(&letter.message_id),
            Some(&letter.thread_id),
            letter.request_id.as_ref(),
            letter.task_id.as_ref(),
        ]
        .contains(&Some(id))
    };
    (!arguments.unseen || letter.receipts.iter().any(is_unseen))
        && arguments.member.as_ref().is_none_or(is_of)
        && arguments.thread.as_ref().is_none_or(is_about)
}

/// Returns a message as lines: what was said, and how far it has come.
fn lines(letter: &Letter) -> Vec<String> {
    let time: String = iso8601(letter.at.0).chars().take(19).collect();
    let text = match &letter.text {
        Some(text) => quoted(text, limits::PROMPT_CHARS),
        None => "(its text cannot be read)".to_owned(),
    };
    let kind = if letter.kind == "message" { String::new() } else { format!(" ({})", letter.kind) };
    let labels = letter.labels_in_brackets();
    let mut receipts: Vec<_> = letter
        .receipts
        .iter()
        .take(SHOWN_RECEIPTS)
        .map(|receipt| of_receipt(letter, receipt))
        .collect();
    if letter.receipts.len() > SHOWN_RECEIPTS {
        receipts.push(format!("{} more", letter.receipts.len() - SHOWN_RECEIPTS));
    }
    let far = if receipts.is_empty() {
        letter.fate_without_recipient().to_owned()
    } else {
        receipts.join(", ")
    };
    let mut lines =
        vec![format!("{time}Z  {} → {}{kind}{labels}: {text}", letter.sender(), letter.to)];
    lines.extend(letter.attachments.iter().map(|one| format!("    attached: {}", one.in_words())));
    let end = letter.resolved.as_ref().map(|end| format!("; {}", end.in_words()));
    lines.push(format!("    {}: {far}{}", letter.message_id, end.unwrap_or_default()));
    lines
}

fn of_receipt(letter: &Letter, receipt: &Receipt) -> String {
    let method = receipt.method.as_ref().map(|method| format!(" by {method}")).unwrap_or_default();
    let after = receipt.after(letter.at).unwrap_or_default();
    let note = receipt.said().unwrap_or_default();
    format!("{} {}{method}{after}{note}", receipt.status.as_str(), receipt.member)
}
