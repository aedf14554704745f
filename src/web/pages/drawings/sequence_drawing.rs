//! Who wrote to whom, as a sequence diagram: a line for each member, an arrow for each message, and a ring where it was seen.

use maud::{Markup, html};

use super::svg_parts::{at, cut, drawing};
use crate::domain::text::counted::counted;
use crate::domain::time::iso8601;
use crate::view::{Letter, ReceiptStatus};

/// The last messages that are drawn.
const MESSAGES: usize = 80;

/// The most members that have a line; those that say or get most.
const MEMBERS: usize = 12;

const LEFT: i64 = 90;
const COLUMN: i64 = 170;
const TOP: i64 = 46;
const ROW: i64 = 34;

/// Draws messages, oldest first.
pub(in crate::web::pages) fn sequence_drawing(letters: &[Letter]) -> Markup {
    let shown = &letters[letters.len().saturating_sub(MESSAGES)..];
    let members = members(shown);
    let column = |name: &str| members.iter().position(|member| *member == name);
    let width = LEFT + COLUMN * at(members.len()) + 40;
    let height = TOP + ROW * at(shown.len()) + 20;
    let content = html! {
        @for (index, member) in members.iter().enumerate() {
            @let x = line_at(index);
            line.l-life x1=(x) x2=(x) y1=(TOP - 12) y2=(height - 8) {}
            text."t-bold" x=(x) y="20" text-anchor="middle" { (cut(member, 20)) }
        }
        @for (index, letter) in shown.iter().enumerate() {
            (message(letter, index, column(&letter.from), column))
        }
    };
    let all = counted(shown.len(), "message");
    let title = format!("The last {all} of {}", counted(members.len(), "member"));
    html! {
        (drawing(&title, (width, height), &content))
        p.empty { "○ unread  ◐ delivered  ● seen  ✓ acked  ■ resolved  □ superseded. The drawing has the last " (all) "." }
        details.body id="drawing-words" {
            summary { "The same in words" }
            ol { @for letter in shown { li.small { (in_words(letter)) } } }
        }
    }
}

fn line_at(column: usize) -> i64 {
    LEFT + COLUMN * at(column) + COLUMN / 2
}

/// Returns the members that take part most, in the order in which they first do.
fn members(letters: &[Letter]) -> Vec<&str> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    let mut count = |name| match counts.iter_mut().find(|(known, _)| *known == name) {
        Some((_, number)) => *number += 1,
        None => counts.push((name, 1)),
    };
    for letter in letters {
        count(letter.from.as_str());
        for receipt in letter.receipts.iter().take(MEMBERS) {
            count(&receipt.member);
        }
    }
    let mut by_count: Vec<usize> = counts.iter().map(|(_, number)| *number).collect();
    by_count.sort_unstable_by(|one, other| other.cmp(one));
    let least = by_count.get(MEMBERS - 1).copied().unwrap_or(1);
    let kept = counts.into_iter().filter(|(_, number)| *number >= least);
    kept.map(|(name, _)| name).take(MEMBERS).collect()
}

fn message(
    letter: &Letter,
    index: usize,
    from: Option<usize>,
    column: impl Fn(&str) -> Option<usize>,
) -> Markup {
    let y = TOP + ROW * at(index) + 14;
    let time: String = iso8601(letter.at.0).chars().skip(11).take(8).collect();
    let ends: Vec<_> = letter
        .receipts
        .iter()
        .filter_map(|receipt| Some((column(&receipt.member)?, receipt.status)))
        .collect();
    let outer = ends.iter().map(|(column, _)| line_at(*column));
    let start = from.map_or(LEFT, line_at);
    let (low, high) = outer.fold((start, start), |(low, high), x| (low.min(x), high.max(x)));
    let class = if letter.urgent { "l-flow l-urgent" } else { "l-flow" };
    let room = usize::try_from((high - low) / 7).unwrap_or(0).max(22);
    html! {
        text."t-soft" x="6" y=(y + 4) { (time) }
        line class=(class) x1=(low) x2=(high) y1=(y) y2=(y) {}
        @for (column, status) in &ends {
            @let (x, left) = (line_at(*column), line_at(*column) < start);
            @let back = if left { 9 } else { -9 };
            polygon."f-flow" points={ (x) "," (y) " " (x + back) "," (y - 4) " " (x + back) "," (y + 4) } {}
            text."t-soft" x=(if left { x - 7 } else { x + 7 }) y=(y + 4) text-anchor=(if left { "end" } else { "start" }) { (mark(*status)) }
        }
        text x=(i64::midpoint(low, high)) y=(y - 5) text-anchor="middle" { (cut(letter.text.as_deref().unwrap_or("(cannot be read)"), room)) }
    }
}

fn mark(status: ReceiptStatus) -> &'static str {
    crate::view::StatusLook::of_receipt(status).mark
}

fn in_words(letter: &Letter) -> String {
    let receipts: Vec<_> =
        letter.receipts.iter().take(MEMBERS).map(|receipt| receipt.in_words(letter.at)).collect();
    let text = letter.text.clone().unwrap_or_else(|| letter.no_text());
    format!("{} to {}: {} ({})", letter.from, letter.to, cut(&text, 200), receipts.join(", "))
}
