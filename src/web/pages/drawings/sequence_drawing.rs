//! Who wrote to whom, as a sequence diagram: a line for each member, an arrow for each message, and a ring where it was seen. In a large
//! team those that take part least share the last line.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use maud::{Markup, html};

use super::svg_parts::{at, cut, drawing};
use crate::domain::text::counted::counted;
use crate::domain::time::iso8601;
use crate::view::{Letter, ReceiptStatus};

/// The last messages that are drawn.
const MESSAGES: usize = 80;

/// The most members that have a line of their own: those that say or get most.
const MEMBERS: usize = 12;

const LEFT: i64 = 90;
const COLUMN: i64 = 170;
const TOP: i64 = 46;
const ROW: i64 = 34;

/// Draws messages, oldest first.
pub(in crate::web::pages) fn sequence_drawing(letters: &[Letter]) -> Markup {
    let shown = &letters[letters.len().saturating_sub(MESSAGES)..];
    let (members, others) = members(shown);
    let column = |name: &str| {
        let own = members.iter().position(|member| *member == name);
        own.or((others > 0).then_some(members.len()))
    };
    let shared = (others > 0).then(|| counted(others, "other"));
    let heads = || members.iter().copied().chain(shared.as_deref());
    let width = LEFT + COLUMN * at(heads().count()) + 40;
    let height = TOP + ROW * at(shown.len()) + 20;
    let content = html! {
        @for (index, head) in heads().enumerate() {
            @let x = line_at(index);
            line.l-life x1=(x) x2=(x) y1=(TOP - 12) y2=(height - 8) {}
            text."t-bold" x=(x) y="20" text-anchor="middle" { (cut(head, 20)) }
        }
        @for (index, letter) in shown.iter().enumerate() {
            (message(letter, index, column(&letter.from), column))
        }
    };
    let all = counted(shown.len(), "message");
    let title = format!("The last {all} of {}", counted(members.len() + others, "member"));
    html! {
        (drawing(&title, (width, height), &content))
        p.empty { "○ unread  ◐ delivered  ● seen  ✓ acked  ■ resolved  □ superseded. The drawing has the last " (all) "."
            @if let Some(shared) = &shared { " The " (shared) " that take part least share the last line." }
        }
        details.body id="drawing-words" {
            summary { "The same in words" }
            ol { @for letter in shown { li.small { (in_words(letter)) } } }
        }
    }
}

fn line_at(column: usize) -> i64 {
    LEFT + COLUMN * at(column) + COLUMN / 2
}

/// Returns the members that take part most, in the order in which they first do, and how many others there are.
fn members(letters: &[Letter]) -> (Vec<&str>, usize) {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    let mut count = |name| match counts.iter_mut().find(|(known, _)| *known == name) {
        Some((_, number)) => *number += 1,
        None => counts.push((name, 1)),
    };
    for letter in letters {
        count(letter.from.as_str());
        for receipt in &letter.receipts {
            count(&receipt.member);
        }
    }
    let all = counts.len();
    let mut order: Vec<usize> = (0..all).collect();
    order.sort_by_key(|index| Reverse(counts[*index].1));
    // One that would be alone on the shared line has it as its own.
    order.truncate(if all == MEMBERS + 1 { all } else { MEMBERS });
    order.sort_unstable();
    let kept: Vec<_> = order.into_iter().map(|index| counts[index].0).collect();
    let others = all - kept.len();
    (kept, others)
}

fn message(
    letter: &Letter,
    index: usize,
    from: Option<usize>,
    column: impl Fn(&str) -> Option<usize>,
) -> Markup {
    let y = TOP + ROW * at(index) + 14;
    let time: String = iso8601(letter.at.0).chars().skip(11).take(8).collect();
    let mut ends = BTreeMap::<usize, Vec<ReceiptStatus>>::new();
    for receipt in &letter.receipts {
        if let Some(column) = column(&receipt.member) {
            ends.entry(column).or_default().push(receipt.status);
        }
    }
    let outer = ends.keys().map(|column| line_at(*column));
    let start = from.map_or(LEFT, line_at);
    let (low, high) = outer.fold((start, start), |(low, high), x| (low.min(x), high.max(x)));
    let class = if letter.urgent { "l-flow l-urgent" } else { "l-flow" };
    let room = usize::try_from((high - low) / 7).unwrap_or(0).max(22);
    html! {
        text."t-soft" x="6" y=(y + 4) { (time) }
        line class=(class) x1=(low) x2=(high) y1=(y) y2=(y) {}
        @for (column, statuses) in &ends {
            @let (x, left) = (line_at(*column), line_at(*column) < start);
            @let back = if left { 9 } else { -9 };
            polygon."f-flow" points={ (x) "," (y) " " (x + back) "," (y - 4) " " (x + back) "," (y + 4) } {}
            text."t-soft" x=(if left { x - 7 } else { x + 7 }) y=(y + 4) text-anchor=(if left { "end" } else { "start" }) { (mark(statuses)) }
        }
        text x=(i64::midpoint(low, high)) y=(y - 5) text-anchor="middle" { (cut(letter.text.as_deref().unwrap_or("(cannot be read)"), room)) }
    }
}

/// Returns the mark of a receipt; of those that share a line and differ, how many have seen the message.
fn mark(statuses: &[ReceiptStatus]) -> String {
    match statuses {
        [status, rest @ ..] if rest.iter().all(|other| other == status) => {
            crate::view::StatusLook::of_receipt(*status).mark.to_owned()
        }
        _ => {
            let seen = statuses.iter().filter(|status| status.is_seen()).count();
            format!("{seen}/{} seen", statuses.len())
        }
    }
}

fn in_words(letter: &Letter) -> String {
    let mut receipts: Vec<_> =
        letter.receipts.iter().take(MEMBERS).map(|receipt| receipt.in_words(letter.at)).collect();
    if letter.receipts.len() > MEMBERS {
        receipts.push(format!("and {} more", letter.receipts.len() - MEMBERS));
    }
    let text = letter.text.clone().unwrap_or_else(|| letter.no_text());
    let words = format!("{} to {}: {}", letter.from, letter.to, cut(&text, 200));
    if receipts.is_empty() { words } else { format!("{words} ({})", receipts.join(", ")) }
}
