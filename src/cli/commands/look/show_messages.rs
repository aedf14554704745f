//! `messages`: what the members wrote to each other, and how far each message has come.

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;

use super::log_filter;
use super::open_to_look::{Place, print_json};
use super::show_decided::show_decided;
use crate::bus::storage::file::Follower;
use crate::cli::{Failure, output};
use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::text::counted::counted_as;
use crate::domain::time::iso8601;
use crate::reader::{LogTexts, fold_back, thread_of_message};
use crate::view::{ConflictRow, Conversation, Letter, Receipt, ReceiptStatus, ThreadEnd};

/// The most messages that are held while the log is read: a few megabytes.
const MOST_HELD: usize = 10_000;

/// How many messages are shown if nothing else is asked for.
const LAST: usize = 20;

/// The most receipts of a message that have a line for people; a broadcast may have hundreds.
const SHOWN_RECEIPTS: usize = 8;

/// Which messages to show.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge messages                  the last 20 messages
  cli-team-bridge messages --since 30m      all of the last half hour
  cli-team-bridge messages --unseen         those that somebody has not seen yet
  cli-team-bridge messages --resolved       those whose thread was resolved, with its summary
  cli-team-bridge messages --decided        what was agreed, decided, answered and allowed
  cli-team-bridge messages --member codex   those from and to one member")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct MessagesArguments {
    #[command(flatten)]
    place: Place,
    /// Only messages from or to this member.
    #[arg(long, value_name = "NAME")]
    member: Option<String>,
    /// Only messages of this thread, by the id of any message of it, or about this request or task.
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// Only messages that a recipient has not seen yet.
    #[arg(long)]
    unseen: bool,
    /// Only the first messages of resolved threads, with who has resolved each, and the summary.
    #[arg(long)]
    resolved: bool,
    /// Instead of messages, what has been decided: how disagreements ended, announced decisions, resolved threads, answers to questions for
    /// you, and what was allowed, denied and approved.
    #[arg(long, conflicts_with_all = ["unseen", "resolved", "notices", "thread"])]
    decided: bool,
    /// Also the notices of the bridge, and its farewells to agents that are stopped.
    #[arg(long)]
    notices: bool,
    /// Only what was written since then: 30m, 1h or 2d ago, or a day or a time in UTC, such as 2026-01-31, 2026-01-31T08:00Z or 08:00.
    #[arg(long, value_name = "TIME", value_parser = log_filter::since)]
    since: Option<i64>,
    /// The most messages to show [default: 20; with --since, all].
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = log_filter::count)]
    last: Option<usize>,
}

pub(crate) fn run(arguments: &MessagesArguments) -> Result<(), Failure> {
    if arguments.decided {
        let member = arguments.member.as_deref();
        return show_decided(&arguments.place, member, arguments.since, arguments.most());
    }
    let bus = arguments.place.open_once()?;
    let is_there = bus.is_some();
    let Shown { letters, left_out, disagreements } = match bus {
        Some(mut bus) => last(&mut bus, arguments)?,
        None => Shown::default(),
    };
    if arguments.place.json {
        print_json(&letters);
        return Ok(());
    }
    for (place, letter) in letters.iter().enumerate() {
        for line in lines(letter) {
            output::say_fitted(&line);
        }
        let is_last = letters[place + 1..].iter().all(|later| later.thread_id != letter.thread_id);
        if let Some(row) = disagreements.get(&letter.thread_id).filter(|_| is_last) {
            output::say_fitted(&format!("    disagreement of {}: {}", row.names(), row.words()));
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
        let names_some = self.member.is_some() || self.thread.is_some() || self.since.is_some();
        names_some || self.unseen || self.resolved
    }

    /// Returns how many to show at most.
    fn most(&self) -> usize {
        self.last.unwrap_or(if self.since.is_some() { usize::MAX } else { LAST })
    }
}

/// What is shown.
#[derive(Default)]
struct Shown {
    /// The last messages that fit, oldest first.
    letters: Vec<Letter>,
    /// How many unseen notices are left out if unseen messages are asked for.
    left_out: usize,
    /// The disagreements in the threads of these messages, if a thread is asked for.
    disagreements: BTreeMap<String, ConflictRow>,
}

/// Returns the last that fit, and what belongs to them.
fn last(bus: &mut Follower, arguments: &MessagesArguments) -> Result<Shown, Failure> {
    let named = arguments.thread.as_deref().and_then(|id| MessageId::parse(id).ok());
    let thread = named.map(|id| thread_of_message(bus, &id)).transpose()?.flatten();
    let thread = thread.map(|id| id.to_string()).or_else(|| arguments.thread.clone());
    let arguments = &MessagesArguments { thread, ..arguments.clone() };
    let fit = |letter: &&Letter| fits(letter, arguments);
    let (conversation, _) = fold_back(
        bus,
        || Conversation::new(MOST_HELD, limits::PROMPT_CHARS),
        Conversation::take,
        |conversation| {
            let begins = conversation.letters().next().map(|letter| letter.at.0);
            begins.is_some_and(|at| arguments.since.is_some_and(|since| at < since))
                || conversation.letters().filter(fit).count() >= arguments.most()
        },
    )?;
    let newest = conversation.letters().rev().filter(fit);
    let mut letters: Vec<_> = newest.take(arguments.most()).cloned().collect();
    letters.reverse();
    let left_out = |letter: &&Letter| {
        arguments.unseen && is_hidden_notice(letter, arguments) && is_wanted(letter, arguments)
    };
    let left_out = conversation.letters().filter(left_out).count();
    let is_asked = arguments.thread.is_some();
    let disagreements = if is_asked { disagreements(bus, &letters) } else { BTreeMap::new() };
    Ok(Shown { letters, left_out, disagreements })
}

/// Returns the disagreements in the threads of messages, as far as the state still has them.
fn disagreements(bus: &mut Follower, letters: &[Letter]) -> BTreeMap<String, ConflictRow> {
    let threads: BTreeSet<_> = letters.iter().map(|letter| &letter.thread_id).collect();
    let (state, texts) = bus.state_and_texts();
    let mut texts = LogTexts(texts);
    let rows = threads.into_iter().filter_map(|thread| {
        let conflict = state.conflict(&MessageId::parse(thread).ok()?)?;
        Some((thread.clone(), ConflictRow::of(state, conflict, &mut texts)))
    });
    rows.collect()
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
    (!arguments.resolved || letter.resolved.is_some())
        && arguments.since.is_none_or(|since| since <= letter.at.0)
        && (!arguments.unseen || letter.receipts.iter().any(is_unseen))
        && arguments.member.as_ref().is_none_or(is_of)
        && arguments.thread.as_ref().is_none_or(is_about)
}

/// Returns a message as lines: what was said, and how far it has come.
fn lines(letter: &Letter) -> Vec<String> {
    let time: String = iso8601(letter.at.0).chars().take(19).collect();
    let text = letter.quoted_text(limits::PROMPT_CHARS);
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
    lines.extend(letter.payload_in_words().map(|payload| format!("    payload: {payload}")));
    lines.extend(letter.attachments.iter().map(|one| format!("    attached: {}", one.in_words())));
    let answers = letter.reply_to.as_ref().map(|id| format!(", answers {id}"));
    let end = letter.resolved.as_ref().map(ThreadEnd::in_words);
    let more = letter.question_in_words().into_iter().chain(end).map(|words| format!("; {words}"));
    lines.push(format!(
        "    {}{}: {far}{}",
        letter.message_id,
        answers.unwrap_or_default(),
        more.collect::<String>()
    ));
    lines
}

fn of_receipt(letter: &Letter, receipt: &Receipt) -> String {
    let method = receipt.method.as_ref().map(|method| format!(" ({method})")).unwrap_or_default();
    let after = receipt.after(letter.at).unwrap_or_default();
    let note = receipt.said().unwrap_or_default();
    format!("{} {}{after}{method}{note}", receipt.status.before_name(), receipt.member)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::{Moment, ThreadEnd, UserQuestion};

    fn letter() -> Letter {
        Letter {
            message_id: "msg-2".to_owned(),
            seq: 2,
            at: Moment(0),
            from: "ann".to_owned(),
            for_member: None,
            to: "human".to_owned(),
            kind: "message".to_owned(),
            text: Some("may I merge?".to_owned()),
            lost: None,
            bytes: 12,
            thread_id: "msg-1".to_owned(),
            reply_to: Some("msg-1".to_owned()),
            asks_you: Some(UserQuestion::Open),
            answered_in: None,
            request_id: None,
            task_id: None,
            signal: None,
            decides: false,
            priority: None,
            reference: None,
            payload: None,
            payload_bytes: None,
            attachments: Vec::new(),
            urgent: false,
            resolved: None,
            taken_back: false,
            receipts: Vec::new(),
        }
    }

    #[test]
    fn a_row_says_what_it_answers_and_how_it_stands_with_the_answer_of_the_user() {
        let second = |letter: &Letter| lines(letter)[1].clone();
        let mut letter = letter();
        assert_eq!(
            second(&letter),
            "    msg-2, answers msg-1: waits for you; open: cli-team-bridge send ann TEXT --reply-to msg-2"
        );
        letter.asks_you = Some(UserQuestion::Answered);
        letter.answered_in = Some("msg-3".to_owned());
        assert_eq!(second(&letter), "    msg-2, answers msg-1: was for you; answered in msg-3");
    }

    #[test]
    fn resolved_threads_are_listed_by_their_first_messages() {
        let arguments = MessagesArguments { resolved: true, ..arguments() };
        let mut letter = letter();
        assert!(!is_wanted(&letter, &arguments));
        letter.resolved =
            Some(ThreadEnd { by: "ben".to_owned(), at: Moment(1), summary: "yes".to_owned() });
        assert!(is_wanted(&letter, &arguments));
    }

    #[test]
    fn all_messages_since_a_time_are_shown_unless_a_number_is_asked_for() {
        let all = MessagesArguments { since: Some(100), ..arguments() };
        let mut letter = letter();
        letter.at = Moment(99);
        assert!(!is_wanted(&letter, &all));
        letter.at = Moment(100);
        assert!(is_wanted(&letter, &all));
        let three = MessagesArguments { last: Some(3), ..all.clone() };
        assert_eq!((arguments().most(), all.most(), three.most()), (20, usize::MAX, 3));
    }

    fn arguments() -> MessagesArguments {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            arguments: MessagesArguments,
        }
        <Line as clap::Parser>::parse_from(["messages"]).arguments
    }
}
