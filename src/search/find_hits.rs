//! A search: locks the index of a bus, brings it up to date, finds the texts, and reads each of them from the bus again.

use std::collections::BTreeSet;

use rusqlite::ErrorCode;
use schemars::JsonSchema;
use serde::Serialize;

use super::bring_up_to_date::{Progress, bring_up_to_date, text_of};
use super::excerpt;
use super::found_places::PlaceFinder;
use super::index_file::{IndexFile, IndexPlace};
use super::indexed_event::pieces;
use super::indexed_transcript;
use super::query_words::Query;
use super::search_error::SearchError;
use super::search_hit::{HitKind, SearchHit};
use super::word_index::{IndexedText, TextPlace, WordIndex};
use crate::bus::storage::LogError;
use crate::bus::storage::file::upkeep::HistoryReader;
use crate::domain::ids::TaskId;
use crate::domain::wait_times;
use crate::view::Moment;

/// The most texts that are looked up at once.
const AT_ONCE: usize = 1_024;

/// The most texts that are looked at for one answer, besides the hits: thousands of a transcript count as one.
const MOST_LOOKED_AT: usize = 20_000;

/// What to find.
#[derive(Clone, Debug)]
pub struct Search {
    pub query: Query,
    /// Only texts since then, in milliseconds since 1970.
    pub since_ms: Option<i64>,
    /// The most hits.
    pub limit: usize,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Found {
    /// The newest first. A text counts once, and so does a transcript.
    pub hits: Vec<SearchHit>,
    /// Whether there are more than were asked for.
    pub has_more: bool,
}

/// Searches the history of a bus. Calls `on_wait` before it waits for another search, and `on_progress` while it reads what is new.
pub fn search(
    history: &mut HistoryReader,
    place: &IndexPlace,
    search: &Search,
    on_wait: &mut dyn FnMut(),
    on_progress: &mut dyn FnMut(Progress),
) -> Result<Found, SearchError> {
    let IndexPlace::Kept(cache) = place else {
        return find(history, &mut WordIndex::in_memory()?, search, on_progress);
    };
    let patience = wait_times::OTHER_SEARCH;
    let file = match IndexFile::lock(cache, history.bus_id(), patience, on_wait) {
        Err(SearchError::Place(error)) => {
            tracing::warn!(%error, "cannot keep an index, so this search reads the whole history");
            return find(history, &mut WordIndex::in_memory()?, search, on_progress);
        }
        locked => locked?,
    };
    match find_in_file(history, &file, search, on_progress) {
        Err(SearchError::Index(error)) if is_without_room(&error) => {
            // What is written of it would take the room for ever.
            file.remove();
            tracing::warn!(%error, "cannot keep an index, so this search reads the whole history");
            find(history, &mut WordIndex::in_memory()?, search, on_progress)
        }
        found => found,
    }
}

/// Searches with the index of a file, which is made anew if it is damaged.
fn find_in_file(
    history: &mut HistoryReader,
    file: &IndexFile,
    search: &Search,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<Found, SearchError> {
    let mut index = WordIndex::open(file)?;
    match find(history, &mut index, search, on_progress) {
        Err(SearchError::Index(error)) if is_damage(&error) => {
            tracing::debug!(%error, "the index is damaged, so it is made anew");
            drop(index);
            file.clear()?;
            find(history, &mut WordIndex::open(file)?, search, on_progress)
        }
        found => found,
    }
}

/// Says whether the place of the index can hold no more, or fails.
fn is_without_room(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure | ErrorCode::CannotOpen))
}

/// Says whether a new index would not have this error.
fn is_damage(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => matches!(
            failure.code,
            ErrorCode::DatabaseCorrupt
                | ErrorCode::NotADatabase
                | ErrorCode::ConstraintViolation
                | ErrorCode::TypeMismatch
                | ErrorCode::Unknown
        ),
        rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::FromSqlConversionFailure(..) => true,
        _ => false,
    }
}

fn find(
    history: &mut HistoryReader,
    index: &mut WordIndex,
    search: &Search,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<Found, SearchError> {
    bring_up_to_date(history, index, on_progress)?;
    let mut found = Found::default();
    let finder = PlaceFinder::new()?;
    let (mut before, mut looked_at) = (i64::MAX, 0);
    let mut seen = BTreeSet::new();
    // As many as an answer needs, if each is a hit. More the next time: each time costs the same for the beginning of a word.
    let mut at_once = search.limit.saturating_add(1).min(AT_ONCE);
    loop {
        let texts = index.find(&search.query, search.since_ms, before, at_once)?;
        for text in &texts {
            before = text.number;
            let Some((own, hit)) = hit(history, index, text, (&search.query, &finder), &seen)?
            else {
                continue;
            };
            if found.hits.len() == search.limit {
                found.has_more = true;
                return Ok(found);
            }
            seen.insert(own);
            found.hits.push(hit);
        }
        looked_at += texts.len();
        if texts.len() < at_once {
            return Ok(found);
        }
        at_once = at_once.saturating_mul(4).min(AT_ONCE);
        if looked_at >= MOST_LOOKED_AT.saturating_add(search.limit) {
            found.has_more = true;
            return Ok(found);
        }
    }
}

/// What counts once: an event's text, or a transcript.
type Own = (i64, String);

/// Reads a text again. Returns none if the bus no longer has it, or if it was found already.
fn hit(
    history: &mut HistoryReader,
    index: &WordIndex,
    text: &IndexedText,
    (query, finder): (&Query, &PlaceFinder),
    seen: &BTreeSet<Own>,
) -> Result<Option<(Own, SearchHit)>, SearchError> {
    let Some(kind) = HitKind::of_number(text.kind) else { return Ok(None) };
    let own = match &text.place {
        TextPlace::Event { seq, .. } => (text.kind, seq.to_string()),
        TextPlace::Transcript { task, .. } => (text.kind, task.clone()),
    };
    if seen.contains(&own) {
        return Ok(None);
    }
    let at = Moment(text.at_ms);
    let shown = |text: &str| -> Result<String, SearchError> {
        let line = excerpt::as_line(text);
        let places = finder.places(&line, query.each_phrase())?;
        Ok(excerpt::around(&line, &places))
    };
    let hit = match &text.place {
        TextPlace::Event { place, index: number, seq, piece, from, bytes } => {
            let event = match history.event_at(*place, *number) {
                Ok(event) => event,
                Err(LogError::Gone) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            let pieces = pieces(&event);
            let Some(piece) = pieces.get(*piece) else { return Ok(None) };
            let Ok(whole) = text_of(history, piece) else { return Ok(None) };
            let end = from.saturating_add(*bytes);
            let Some(part) = whole.get(*from..end) else { return Ok(None) };
            let names = match kind {
                HitKind::Result => index.task(&piece.id)?,
                _ => None,
            };
            let (from, to) = match names {
                Some((agent, by)) => (Some(agent), Some(by)),
                None => (piece.from.clone(), piece.to.clone()),
            };
            let open = format!("cli-team-bridge {}", piece.open);
            let text = shown(part)?;
            SearchHit { at, kind, seq: Some(*seq), from, to, id: piece.id.clone(), text, open }
        }
        TextPlace::Transcript { task, from, bytes } => {
            let Some(words) = words_of_transcript(history, task, *from, *bytes) else {
                return Ok(None);
            };
            let agent = index.task(task)?.map(|(agent, _)| agent);
            let open = format!("cli-team-bridge task {task}");
            let text = shown(&words)?;
            SearchHit { at, kind, seq: None, from: agent, to: None, id: task.clone(), text, open }
        }
    };
    Ok(Some((own, hit)))
}

/// Reads a piece of a transcript again.
fn words_of_transcript(
    history: &HistoryReader,
    task: &str,
    from: u64,
    bytes: u64,
) -> Option<String> {
    let task = TaskId::parse(task).ok()?;
    let (mut lines, mut at) = (String::new(), from);
    while at < from + bytes {
        let (more, next) =
            history.transcript_after(&task, at).ok().filter(|(_, next)| *next > at)?;
        lines.push_str(&more);
        at = next;
    }
    let own = lines.get(..usize::try_from(bytes).ok()?)?;
    indexed_transcript::pieces(own).into_iter().next().map(|piece| piece.text)
}
