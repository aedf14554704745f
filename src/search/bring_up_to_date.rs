//! Brings an index up to date with its bus: forgets what the bus no longer has, and reads what is new, in batches.
//!
//! A batch is committed with the position after it. A kill at any moment costs at most the last batch, which the next search reads again.

use std::collections::BTreeMap;

use super::indexed_event::{Piece, PieceText, parts, pieces};
use super::indexed_transcript::{self, TranscriptPiece};
use super::query_words::{EVERYBODY, name_token};
use super::search_error::SearchError;
use super::search_hit::HitKind;
use super::word_index::{Batch, LogMark, NewText, TextPlace, WordIndex, next_of_log};
use crate::bus::event::{Event, LogPosition};
use crate::bus::storage::LogError;
use crate::bus::storage::file::upkeep::{HistoryEntry, HistoryReader, TranscriptFile};
use crate::domain::text::visible_letters::without_styles;

/// Bytes of the log or of transcripts in a batch: a second's work, and a few times as much memory.
const BATCH_BYTES: u64 = 8 * 1024 * 1024;

/// How far a clock may be ahead. A later time counts as this one.
const AHEAD_MS: i64 = 24 * 60 * 60 * 1000;

/// How far the index has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the history that were read.
    pub done: u64,
    /// Bytes that were to be read.
    pub total: u64,
}

/// Brings an index up to date.
pub(super) fn bring_up_to_date(
    history: &mut HistoryReader,
    index: &mut WordIndex,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<(), SearchError> {
    let (mark, from) = begin(history, index)?;
    let files = history.transcripts()?;
    let known: BTreeMap<_, _> = index.transcripts()?.into_iter().collect();
    let to_read = transcripts_to_read(index, &files, &known)?;
    let unread: u64 = to_read.iter().map(|(file, read)| file.bytes.saturating_sub(*read)).sum();
    let mut progress = Progress { done: 0, total: history.bytes_after(from) + unread };
    let mut update =
        Update { now_ms: history.now_ms(), history, index, progress: &mut progress, on_progress };
    update.log(mark, from)?;
    update.transcripts(to_read)
}

/// Returns how far the log is indexed, and where to go on. An index of another log is emptied, and the parts of the log that are gone are
/// forgotten.
fn begin(
    history: &mut HistoryReader,
    index: &mut WordIndex,
) -> Result<(LogMark, LogPosition), SearchError> {
    let oldest = history.parts()?.first().copied().unwrap_or_default();
    let fresh = LogMark { oldest: oldest.segment, ..LogMark::default() };
    let Some(mut mark) = index.mark()? else {
        return Ok((fresh, oldest));
    };
    if !is_of_this_log(history, &mark, oldest)? {
        index.clear()?;
        return Ok((fresh, oldest));
    }
    if mark.oldest != oldest.segment {
        mark.oldest = oldest.segment;
        let mut batch = index.batch()?;
        batch.forget_before(oldest.segment)?;
        batch.set_mark(&mark)?;
        batch.commit()?;
    }
    let from = if mark.next.segment < oldest.segment { oldest } else { mark.next };
    Ok((mark, from))
}

/// Says whether the index is one of this log: the last line that it has read is still there, or retention has removed it with all
/// before it.
fn is_of_this_log(
    history: &mut HistoryReader,
    mark: &LogMark,
    oldest: LogPosition,
) -> Result<bool, SearchError> {
    if mark.oldest != oldest.segment {
        // A part with copies of an earlier one has other places for the same texts.
        let first = first_entry(history, oldest)?;
        if mark.oldest > oldest.segment
            || first.is_some_and(|entry| entry.entry.seq < oldest.segment)
        {
            return Ok(false);
        }
    }
    if mark.next_seq == 0 || mark.last.segment < oldest.segment {
        return Ok(true);
    }
    let last = first_entry(history, mark.last)?;
    Ok(last.is_some_and(|last| {
        last.place.offset == mark.last.offset
            && last.entry.seq == mark.last_seq
            && last.entry.id.0 == mark.last_id
    }))
}

fn first_entry(
    history: &mut HistoryReader,
    place: LogPosition,
) -> Result<Option<HistoryEntry>, SearchError> {
    match history.entries_after(place, |_, _| true) {
        Ok((entries, _)) => Ok(entries.into_iter().next()),
        Err(LogError::Gone) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Forgets transcripts that are gone, and returns those with new lines, each with the bytes that were read.
fn transcripts_to_read(
    index: &mut WordIndex,
    files: &[TranscriptFile],
    known: &BTreeMap<String, u64>,
) -> Result<Vec<(TranscriptFile, u64)>, SearchError> {
    let present: BTreeMap<_, _> =
        files.iter().map(|file| (file.task.to_string(), file.bytes)).collect();
    // One that is shorter than before is another one.
    let is_gone =
        |(task, read): &(&String, &u64)| present.get(*task).is_none_or(|bytes| bytes < *read);
    let gone: Vec<_> = known.iter().filter(is_gone).map(|(task, _)| task.clone()).collect();
    if !gone.is_empty() {
        let mut batch = index.batch()?;
        for task in &gone {
            batch.forget_transcript(task)?;
        }
        batch.commit()?;
    }
    let read = |file: &TranscriptFile| {
        let task = file.task.to_string();
        if gone.contains(&task) { 0 } else { known.get(&task).copied().unwrap_or(0) }
    };
    let files = files.iter().map(|file| (file.clone(), read(file)));
    Ok(files.filter(|(file, read)| file.bytes > *read).collect())
}

/// An update in progress.
struct Update<'a> {
    history: &'a mut HistoryReader,
    index: &'a mut WordIndex,
    now_ms: i64,
    progress: &'a mut Progress,
    on_progress: &'a mut dyn FnMut(Progress),
}

impl Update<'_> {
    fn log(&mut self, mut mark: LogMark, mut from: LogPosition) -> Result<(), SearchError> {
        loop {
            let mut bytes = 0;
            let read = self.history.entries_after(from, |_, line| {
                bytes += line;
                bytes >= BATCH_BYTES
            });
            let (entries, next) = match read {
                // Retention removed it meanwhile. The next search forgets it.
                Err(LogError::Gone) => {
                    let oldest = self.history.parts()?.first().copied().unwrap_or_default();
                    if oldest.segment <= from.segment {
                        return Ok(());
                    }
                    from = oldest;
                    continue;
                }
                read => read?,
            };
            if entries.is_empty() {
                return Ok(());
            }
            let mut batch = self.index.batch()?;
            for read in &entries {
                // The copy of a line that was read before.
                if read.entry.seq < mark.next_seq {
                    continue;
                }
                add_entry(self.history, &mut batch, read, &mut mark, self.now_ms)?;
                mark.next_seq = read.next_seq;
                (mark.last, mark.last_seq) = (read.place, read.entry.seq);
                mark.last_id = read.entry.id.0;
            }
            mark.next = next;
            batch.set_mark(&mark)?;
            batch.commit()?;
            from = next;
            self.progress.done += bytes;
            (self.on_progress)(*self.progress);
        }
    }

    fn transcripts(&mut self, files: Vec<(TranscriptFile, u64)>) -> Result<(), SearchError> {
        let mut pending = Pending::default();
        for (file, mut read) in files {
            loop {
                let (lines, next) = match self.history.transcript_after(&file.task, read) {
                    Ok((lines, next)) if next > read => (lines, next),
                    // It has no whole new line, or was removed meanwhile.
                    Ok(_) | Err(LogError::Gone) => break,
                    Err(error) => {
                        tracing::debug!(%error, task = %file.task, "cannot read a transcript");
                        break;
                    }
                };
                let mut found = indexed_transcript::pieces(&lines);
                let mut end = next;
                // The last piece may go on in the next part, even in the middle of a word.
                if next < file.bytes
                    && let Some(last) = found.pop_if(|last| last.from > 0)
                {
                    end = read + last.from;
                }
                pending.add(&file, read, end, found);
                self.progress.done += end - read;
                read = end;
                if pending.bytes >= BATCH_BYTES {
                    self.add_transcripts(std::mem::take(&mut pending))?;
                }
            }
        }
        self.add_transcripts(pending)
    }

    fn add_transcripts(&mut self, mut pending: Pending) -> Result<(), SearchError> {
        if pending.read.is_empty() {
            return Ok(());
        }
        // The index grows best in the order of its numbers.
        pending.pieces.sort_by_key(|piece| piece.at_ms);
        let mut batch = self.index.batch()?;
        for (task, read) in &pending.read {
            batch.set_read(task, *read)?;
        }
        let mut last = 0;
        for PendingPiece { task, at_ms, from, piece } in &pending.pieces {
            let known = batch.task(task)?;
            if piece.is_output && known.as_ref().is_some_and(|(_, _, has_result)| *has_result) {
                continue;
            }
            let at_ms = bounded(*at_ms, self.now_ms);
            last = batch.next_of_transcripts(last, at_ms)?;
            let who = known.map(|(agent, _, _)| name_token(&agent)).unwrap_or_default();
            batch.add(
                last,
                &NewText {
                    at_ms,
                    kind: HitKind::Transcript.number(),
                    place: TextPlace::Transcript {
                        task: task.clone(),
                        from: *from,
                        bytes: piece.bytes,
                    },
                    is_output: piece.is_output,
                    text: &without_styles(&piece.text),
                    who: &who,
                },
            )?;
        }
        batch.commit()?;
        (self.on_progress)(*self.progress);
        Ok(())
    }
}

/// Pieces of transcripts that wait to be added together.
#[derive(Default)]
struct Pending {
    pieces: Vec<PendingPiece>,
    read: BTreeMap<String, u64>,
    bytes: u64,
}

struct PendingPiece {
    task: String,
    at_ms: i64,
    from: u64,
    piece: TranscriptPiece,
}

impl Pending {
    fn add(&mut self, file: &TranscriptFile, read: u64, end: u64, pieces: Vec<TranscriptPiece>) {
        let task = file.task.to_string();
        let touched_ms = i64::try_from(file.touched_ns / 1_000_000).unwrap_or(0);
        for piece in pieces {
            let (at_ms, from) = (piece.at_ms.unwrap_or(touched_ms), read + piece.from);
            self.pieces.push(PendingPiece { task: task.clone(), at_ms, from, piece });
        }
        self.read.insert(task, end);
        self.bytes += end - read;
    }
}

/// Adds the texts of a line.
fn add_entry(
    history: &mut HistoryReader,
    batch: &mut Batch<'_>,
    read: &HistoryEntry,
    mark: &mut LogMark,
    now_ms: i64,
) -> Result<(), SearchError> {
    let at_ms = bounded(read.entry.ts, now_ms);
    for (event, index) in read.entry.events.iter().zip(&read.indices) {
        if let Event::TaskAssigned(assigned) = event {
            let names = (assigned.agent.as_str(), assigned.by.as_str());
            batch.add_task(&assigned.id.to_string(), names, read.place.segment)?;
        }
        if let Event::TaskFinished(finished) = event
            && finished.output.bytes() > 0
        {
            batch.has_result(&finished.id.to_string())?;
        }
        for (number, piece) in pieces(event).iter().enumerate() {
            let text = match text_of(history, piece) {
                Ok(text) => text,
                // What cannot be read cannot be found.
                Err(error) => {
                    tracing::debug!(%error, id = piece.id, "cannot read a text of the log");
                    continue;
                }
            };
            let who = who(batch, piece)?;
            for (from, part) in parts(&text) {
                if !part.contains(char::is_alphanumeric) {
                    continue;
                }
                mark.last_number = next_of_log(mark.last_number, at_ms);
                let place = TextPlace::Event {
                    place: read.place,
                    index: *index,
                    seq: read.entry.seq.saturating_add(u64::from(*index)),
                    piece: number,
                    from,
                    bytes: part.len(),
                };
                let kind = piece.kind.number();
                // The letters of a style would be a part of the next word.
                let text = &without_styles(part);
                let new = NewText { at_ms, kind, place, is_output: false, text, who: &who };
                batch.add(mark.last_number, &new)?;
            }
        }
    }
    Ok(())
}

/// Reads a text of an event.
pub(super) fn text_of(history: &mut HistoryReader, piece: &Piece) -> Result<String, LogError> {
    match &piece.text {
        PieceText::Body(body) => history.text(body),
        PieceText::List(body) => {
            let list = history.text(body)?;
            let texts = serde_json::from_str::<Vec<String>>(&list);
            Ok(texts.map_or(list, |texts| texts.join("\n")))
        }
        PieceText::Words(words) => Ok(words.clone()),
    }
}

/// Returns the tokens of the members that a text is from and for.
fn who(batch: &Batch<'_>, piece: &Piece) -> Result<String, SearchError> {
    if piece.kind == HitKind::Result {
        let task = batch.task(&piece.id)?;
        let names = task.map(|(agent, by, _)| [name_token(&agent), name_token(&by)].join(" "));
        return Ok(names.unwrap_or_default());
    }
    let token = |name: &String| if name == "all" { EVERYBODY.to_owned() } else { name_token(name) };
    let names = [&piece.from, &piece.to].into_iter().flatten();
    Ok(names.map(token).collect::<Vec<_>>().join(" "))
}

/// Returns a time that numbers can stand for.
fn bounded(at_ms: i64, now_ms: i64) -> i64 {
    at_ms.clamp(0, now_ms.saturating_add(AHEAD_MS))
}
