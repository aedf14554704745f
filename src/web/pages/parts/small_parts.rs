//! Marks with their words, times, links, and texts of others made safe to show.

use maud::{Markup, html};

use crate::domain::limits;
use crate::domain::text::counted::counted;
use crate::domain::text::visible_letters::{seen, without_styles};
use crate::domain::time::iso8601;
use crate::view::{Moment, NOT_REPORTED, Spent, StatusLook, Tone, money, short, span};
use crate::web::pages::View;

/// The most rows of a list that is no list of messages: more than a person reads, and a bound for the page.
pub(in crate::web::pages) const MOST_ROWS: usize = 200;

/// What the columns of tokens and costs have.
pub(in crate::web::pages) const AS_REPORTED: &str =
    "of turns that have ended, as far as the agents report it";

/// Returns the class of a tone.
pub(in crate::web::pages) fn tone(tone: Tone) -> &'static str {
    match tone {
        Tone::Active => "active",
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Urgent => "urgent",
        Tone::Plain => "plain",
        Tone::Faint => "faint",
    }
}

/// Returns a text of ours whose commands stand between backticks.
pub(in crate::web::pages) fn with_commands(text: &str) -> Markup {
    html! {
        @for (place, part) in text.split('`').enumerate() {
            @if place % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// Returns a mark with its word.
pub(in crate::web::pages) fn mark(look: StatusLook, word: &str) -> Markup {
    html! {
        span class={ (tone(look.tone)) " nowrap" } {
            span.mark aria-hidden="true" { (look.mark) } " " (word.replace('_', " "))
        }
    }
}

/// Returns the cells of tokens and cost. Of an agent that may have used some and reports nothing, they say so.
pub(in crate::web::pages) fn usage_cells(usage: Option<&Spent>, may_report: bool) -> Markup {
    // On a phone a cell has its word behind it.
    let cell = |word: &str, shown: String| {
        let is_missing = shown.is_empty() && may_report;
        html! {
            td.number data-unit=(word) title=[is_missing.then_some("not reported (yet) by the agent")] {
                @if is_missing { (NOT_REPORTED) } @else { (shown) }
            }
        }
    };
    html! {
        (cell("tokens", usage.map(|usage| short(usage.total_tokens)).unwrap_or_default()))
        (cell("cost", usage.map(money).unwrap_or_default()))
    }
}

/// Returns a time of day. The script turns it into the reader's own.
pub(in crate::web::pages) fn clock(at: Moment) -> Markup {
    let iso = iso8601(at.0);
    let shown = iso.get(11..19).unwrap_or_default();
    html! { time data-clock="" datetime=(iso) title=(iso) { (shown) "Z" } }
}

/// Returns how long ago something was, in the words in which pages say how much time is left.
pub(in crate::web::pages) fn ago(at: Moment, now: Moment) -> Markup {
    let iso = iso8601(at.0);
    html! { time datetime=(iso) title=(iso) { (span(i64::try_from(at.until(now)).unwrap_or(i64::MAX))) } }
}

pub(in crate::web::pages) fn member_link(name: &str) -> Markup {
    // The bus itself, everybody and the person at the command line have no page.
    if matches!(name, "bridge" | "human" | "all" | "") {
        return html! { (name) };
    }
    html! { a href=(View::Member(name.to_owned()).path()) { (name) } }
}

pub(in crate::web::pages) fn task_link(id: &str) -> Markup {
    html! { a.id href=(View::Task(id.to_owned()).path()) { (id) } }
}

pub(in crate::web::pages) fn workflow_link(id: &str, words: &str) -> Markup {
    html! { a href=(View::Workflow(id.to_owned()).path()) { (words) } }
}

/// Returns a text of others, of several lines: visible letters alone, at most so many, and how many are missing.
pub(in crate::web::pages) fn clean_text(text: &str) -> (String, usize) {
    let most = limits::WINDOW_PROMPT_CHARS;
    let shown: String = text.chars().take(most).collect();
    let missing = text.chars().count().saturating_sub(most);
    (seen(&without_styles(&shown)), missing)
}

/// Returns a text of others as an element of this class that can be scrolled with the keyboard.
pub(in crate::web::pages) fn shown_text(text: &str, class: &str, label: &str) -> Markup {
    let (shown, missing) = clean_text(text);
    html! {
        pre class=(class) tabindex="0" role="group" aria-label=(label) { (shown) }
        @if missing > 0 { p.empty { "… and " (counted(missing, "more character")) } }
    }
}

/// Says how many rows a list leaves out, and where they are.
pub(in crate::web::pages) fn left_out(all: usize, command: &str) -> Markup {
    let more = all.saturating_sub(MOST_ROWS);
    html! {
        @if more > 0 { p.empty { (more) " more: " code { (command) } " lists them." } }
    }
}
