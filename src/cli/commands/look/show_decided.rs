//! `messages --decided`: what has been decided, oldest first as messages are.

use super::open_to_look::{Place, print_json};
use crate::bus::storage::file::Follower;
use crate::cli::{Failure, output};
use crate::domain::limits;
use crate::domain::text::visible_letters::quoted;
use crate::domain::time::iso8601;
use crate::reader::{LogTexts, fold_back};
use crate::view::{Decided, Decisions};

/// The most decisions that are held while the log is read: a few megabytes.
const MOST_HELD: usize = 10_000;

/// Shows so many of them, the last ones; only those that concern a member, and only those since a time, if these are named.
pub(super) fn show_decided(
    place: &Place,
    member: Option<&str>,
    since: Option<i64>,
    most: usize,
) -> Result<(), Failure> {
    let bus = place.open_once()?;
    let is_there = bus.is_some();
    let decided = match bus {
        Some(mut bus) => last_decided(&mut bus, (member, since), most)?,
        None => Vec::new(),
    };
    if place.json {
        print_json(&decided);
        return Ok(());
    }
    decided.iter().flat_map(lines).for_each(|line| output::say_fitted(&line));
    if decided.is_empty() && is_there {
        output::tell(match (member, since) {
            (None, None) => "Nothing has been decided yet.",
            _ => "Nothing that was decided fits what you ask for.",
        });
    }
    Ok(())
}

/// Returns the last that fit, oldest first.
fn last_decided(
    bus: &mut Follower,
    (member, since): (Option<&str>, Option<i64>),
    most: usize,
) -> Result<Vec<Decided>, Failure> {
    let is_earlier = |row: &Decided| since.is_some_and(|since| row.at.0 < since);
    let is_of = |row: &&Decided| member.is_none_or(|name| row.concerns(name)) && !is_earlier(row);
    let (decisions, _) = fold_back(
        bus,
        || Decisions::new(MOST_HELD),
        Decisions::take,
        // Of earlier entries the state knows the ends of disagreements alone.
        |decisions| {
            decisions.of_entries().any(is_earlier)
                || decisions.of_entries().filter(is_of).count() >= most
        },
    )?;
    let (state, texts) = bus.state_and_texts();
    let mut shown = decisions.all(state, &mut LogTexts(texts));
    shown.retain(|row| is_of(&row));
    shown.truncate(most);
    shown.reverse();
    Ok(shown)
}

/// Returns what was decided as lines: who did and what holds, and where to read more.
fn lines(row: &Decided) -> [String; 2] {
    let time: String = iso8601(row.at.0).chars().take(19).collect();
    let what = match &row.words {
        Some(words) => quoted(words, limits::PROMPT_CHARS),
        None => row.what(limits::PROMPT_CHARS),
    };
    let about = row.about.as_ref().filter(|_| row.words.is_some());
    let about = about.map(|about| format!("about {}: ", quoted(about, limits::PROMPT_CHARS)));
    [
        format!("{time}Z  {}: {what}", row.who()),
        format!("    {}{}: {}", about.unwrap_or_default(), row.id, row.command()),
    ]
}
