//! A message as a row of a list, with the way of its receipts: stored, delivered, seen, acknowledged. A row says nothing that changes by itself, so
//! that it is sent again only when the message has come further.

use maud::{Markup, Render, html};

use super::small_parts::{clock, member_link, task_link, tone};
use crate::domain::text::counted::counted;
use crate::view::{Letter, Moment, Receipt, ReceiptStatus, StatusLook, UserQuestion};
use crate::web::pages::View;

/// The most receipts that a row shows one by one.
const MOST_RECEIPTS: usize = 8;

/// Returns a message as a row with the id `letter-SEQ`.
pub(in crate::web::pages) fn letter_row(letter: &Letter) -> Markup {
    let is_answer = letter.reply_to.is_some();
    let kind = match letter.kind.as_str() {
        "message" => None,
        kind => Some(kind),
    };
    html! {
        li id={ "letter-" (letter.seq) } class=[is_answer.then_some("answer")] {
            div.letter-head id=(letter.message_id) {
                b { (member_link(&letter.from)) } @if let Some(name) = &letter.for_member { " for " b { (member_link(name)) } } span.unseen { " to " } span aria-hidden="true" { "→" } b { (member_link(&letter.to)) }
                @if let Some(kind) = kind { span.tag { (kind) } }
                @if let Some(signal) = letter.shown_signal() { span.tag { (signal) } }
                @if letter.urgent { span.tag.urgent { "! urgent" } }
                @else if let Some(priority) = &letter.priority { span.tag { (priority) } }
                @if let Some(id) = &letter.reply_to { span.small.soft { "answers " (message_link(id, &letter.thread_id)) } }
                @if let Some(id) = &letter.request_id { span.id.soft { (id) } }
                @if let Some(id) = &letter.task_id { (task_link(id)) }
                span.when.soft {
                    a data-row="" href={ (View::Thread(letter.thread_id.clone()).path()) "#letter-" (letter.seq) } { (clock(letter.at)) span.unseen { ", its thread" } }
                }
            }
            p.letter-text dir="auto" {
                @match &letter.text {
                    Some(text) => (text),
                    None => span.soft { (letter.no_text()) },
                }
            }
            @if let Some(payload) = letter.payload_in_words() {
                p.small.soft dir="auto" { "payload: " (payload) }
            }
            @if !letter.attachments.is_empty() {
                ul.receipts aria-label="Attachments" {
                    @for one in &letter.attachments { li { "attached: " (one.in_words()) @if let Some(path) = &one.path { " at " (path) } } }
                }
            }
            @if let Some(end) = &letter.resolved {
                p.small.soft dir="auto" { span.mark.good aria-hidden="true" { "■" } " " (end.in_words()) " · " (clock(end.at)) }
            }
            (question(letter))
            (receipts(letter))
        }
    }
}

/// Says where a question to the user is answered, or what has answered it.
fn question(letter: &Letter) -> Markup {
    html! {
        @match (letter.asks_you, &letter.answered_in) {
            (Some(UserQuestion::Open), _) => p.small {
                span.mark.urgent aria-hidden="true" { "!" } " open: "
                a href=(View::Thread(letter.thread_id.clone()).path()) { "answer it in its thread" }
            },
            (Some(UserQuestion::Answered), Some(answer)) => p.small.soft { "answered in " (message_link(answer, &letter.thread_id)) },
            _ => {},
        }
    }
}

/// Returns a link to a message on the page of its thread.
fn message_link(id: &str, thread: &str) -> Markup {
    html! { a.id href={ (View::Thread(thread.to_owned()).path()) "#" (id) } { (id) } }
}

fn receipts(letter: &Letter) -> Markup {
    let all = &letter.receipts;
    html! {
        @if all.is_empty() { div.receipts { (letter.fate_without_recipient()) } }
        @else if all.len() > MOST_RECEIPTS {
            @let by = letter.seen_by();
            div.receipts {
                (by.seen) " of " (counted(by.of, "recipient")) " have seen it"
                @if by.withdrawn > 0 { "; it was withdrawn from " (by.withdrawn) }
            }
        } @else {
            ul.receipts aria-label="Receipts" { @for one in all { li { (receipt_path(letter.at, one)) } } }
        }
    }
}

/// Returns the way of a receipt: each station with its time.
fn receipt_path(sent: Moment, receipt: &Receipt) -> Markup {
    let look = StatusLook::of_receipt(receipt.status);
    html! {
        span.path title=(receipt.in_words(sent)) {
            span class=(tone(look.tone)) aria-hidden="true" { (look.mark) }
            span { (receipt.member) ":" }
            span.done { "stored" }
            @if let Some(at) = receipt.delivered_at {
                span aria-hidden="true" { "→" }
                span.done { "delivered" @if let Some(method) = &receipt.method { " by " (method) } " " (after(sent, at)) }
            }
            @if let Some(at) = receipt.seen_at {
                span aria-hidden="true" { "→" } span.done { "seen " (after(sent, at)) }
            }
            @if let Some(at) = receipt.acknowledged_at {
                span aria-hidden="true" { "→" } span.done { (receipt.status.as_str()) " " (after(sent, at)) (receipt.said().unwrap_or_default()) }
            }
            @match receipt.status {
                ReceiptStatus::Queued => span { "· on its way" },
                ReceiptStatus::Unread => span { "· unread" },
                ReceiptStatus::Withdrawn => span { "· withdrawn" @if let Some(why) = &receipt.why { " (" (why) ")" } },
                ReceiptStatus::Expired => span.bad { "· will not reach it" },
                ReceiptStatus::Undelivered => span.bad { "· was not delivered" },
                ReceiptStatus::Delivered
                | ReceiptStatus::Seen
                | ReceiptStatus::Acked
                | ReceiptStatus::Resolved
                | ReceiptStatus::Superseded => {},
            }
        }
    }
}

/// Says how long after the sending something was.
fn after(sent: Moment, at: Moment) -> String {
    let ms = sent.until(at);
    match ms {
        0..=9_999 => format!("+{}.{} s", ms / 1000, ms % 1000 / 100),
        _ => format!("+{}", crate::view::span(i64::try_from(ms).unwrap_or(i64::MAX))),
    }
}

/// The rows of messages in the order given, which go straight into the list around them.
pub(in crate::web::pages) struct LetterRows<I>(pub(in crate::web::pages) I);

impl<'a, I: Iterator<Item = &'a Letter> + Clone> Render for LetterRows<I> {
    fn render_to(&self, list: &mut String) {
        self.0.clone().for_each(|letter| letter_row(letter).render_to(list));
    }
}
