//! Exports the whole history of a bus as JSON lines: every event with its texts, and every part that cannot be read.
//!
//! The events are taken as they stand on disk, so that fields and kinds of other versions are kept. Nothing is left out silently: a
//! damaged line, a missing event and a missing text each have a line or a field of their own, and the last line counts them.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::history_lines::{HistoryLine, walk};
use crate::bus::event::LogPosition;
use crate::bus::storage::file::bus_directory::TRANSCRIPTS;
use crate::bus::storage::file::io_failure::names_in_part;
use crate::bus::storage::file::log::segments;
use crate::bus::storage::file::open_to_read::{Opened, open};
use crate::bus::storage::file::{FileLog, Proof, bus_json, long_texts};
use crate::bus::storage::stored_text::check_text;
use crate::bus::storage::{Log as _, LogError};
use crate::domain::ids::TaskId;
use crate::domain::text::content_hash::ContentHash;
use crate::domain::text::visible_letters::is_invisible;
use crate::domain::time::iso8601;
use crate::sys::fs::disk::{Disk as _, RealDisk};

/// The version of the format; it increases when a line changes its meaning, not when a field or a kind of line is added.
const EXPORT_VERSION: u32 = 1;

/// What to export.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExportOptions {
    /// Also the transcripts, after the events.
    pub with_transcripts: bool,
}

/// What was exported, and what was not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    pub events: u64,
    pub transcript_lines: u64,
    /// Parts of the log that are no line.
    pub damaged_lines: u64,
    /// Seqs that no line has.
    pub missing_events: u64,
    pub missing_texts: u64,
    /// Transcripts that could not be read to their end.
    pub missing_transcripts: u64,
}

impl Exported {
    /// Says whether nothing was missing.
    pub fn is_whole(&self) -> bool {
        self.damaged_lines == 0
            && self.missing_events == 0
            && self.missing_texts == 0
            && self.missing_transcripts == 0
    }
}

/// What exporting a bus yields.
pub enum Export {
    /// No bus yet.
    Absent,
    /// A bus that was not created here. It was not read.
    Foreign,
    Done(Exported),
}

/// Takes a line of the export, without a newline. It may end the export.
pub(super) type Take<'a> = dyn FnMut(&str) -> ControlFlow<()> + 'a;

/// Exports the bus in a directory.
pub fn export(
    directory: &Path,
    proof: &Proof,
    options: ExportOptions,
    take: &mut Take<'_>,
) -> Result<Export, LogError> {
    let mut log = match open(directory, proof)? {
        Opened::Absent => return Ok(Export::Absent),
        Opened::Foreign => return Ok(Export::Foreign),
        Opened::Log(log) => *log,
    };
    export_log(&mut log, options, take).map(Export::Done)
}

/// Exports an open bus.
pub(super) fn export_log(
    log: &mut FileLog,
    options: ExportOptions,
    take: &mut Take<'_>,
) -> Result<Exported, LogError> {
    let bus = bus_json::load(&*log.disk, &log.directory)?.ok_or(LogError::Removed)?;
    log.segments.refresh()?;
    let next_seq = log.segments.has_beginning().then_some(1);
    let now_ms = log.now().wall_ms;
    let mut lines = Lines {
        take,
        has_ended: false,
        next_seq,
        is_after_damage: false,
        done: Exported::default(),
    };
    lines.put(&json!({ "export": EXPORT_VERSION, "bus": bus, "at": iso8601(now_ms) }));
    // The walk borrows the segments alone.
    let blobs = log.part("blobs", "");
    let disk = std::sync::Arc::clone(&log.disk);
    let read_text = |id: &str| {
        let id = uuid::Uuid::parse_str(id).map_err(|_| LogError::Gone)?;
        long_texts::read(&*disk, &blobs.join(id.to_string()))
    };
    let walked = walk(&mut log.segments, &mut |place, line| {
        lines.history(place, &line, &read_text);
        // An error is the only way to end the walk.
        if lines.has_ended { Err(LogError::Gone) } else { Ok(()) }
    });
    if lines.has_ended {
        return Ok(lines.done);
    }
    walked?;
    if options.with_transcripts {
        transcripts(log, &mut lines)?;
    }
    let Exported {
        events,
        transcript_lines,
        damaged_lines,
        missing_events,
        missing_texts,
        missing_transcripts,
    } = lines.done;
    lines.put(&json!({ "end": {
        "events": events,
        "transcript_lines": transcript_lines,
        "damaged_lines": damaged_lines,
        "missing_events": missing_events,
        "missing_texts": missing_texts,
        "missing_transcripts": missing_transcripts,
    } }));
    Ok(lines.done)
}

type ReadText<'a> = dyn Fn(&str) -> Result<String, LogError> + 'a;

/// The lines of an export.
struct Lines<'a, 'b> {
    take: &'a mut Take<'b>,
    has_ended: bool,
    next_seq: Option<u64>,
    is_after_damage: bool,
    done: Exported,
}

impl Lines<'_, '_> {
    fn put(&mut self, line: &Value) {
        if !self.has_ended {
            self.has_ended = (self.take)(&visible(&line.to_string())).is_break();
        }
    }

    fn history(&mut self, place: LogPosition, line: &HistoryLine<'_>, read: &ReadText<'_>) {
        match line {
            HistoryLine::Whole(bytes) => match serde_json::from_slice(bytes) {
                Ok(Value::Object(line)) => self.line(place, line, read),
                _ => self.damaged(place, bytes.len() as u64 + 1, "it is no JSON object"),
            },
            HistoryLine::Damaged(bytes) => self.damaged(place, *bytes, "it is no line of the log"),
            // It was not acknowledged to any session.
            HistoryLine::Unfinished(_) => {}
            HistoryLine::Removed => {
                let why = "it was removed during the export, because no session needs it";
                self.damaged(place, 0, why);
                self.next_seq = None;
            }
        }
    }

    fn damaged(&mut self, place: LogPosition, bytes: u64, why: &str) {
        self.done.damaged_lines += 1;
        self.is_after_damage = true;
        let file = format!("log/{}", segments::file_name(place.segment));
        let at = place.offset;
        self.put(&json!({ "damaged": { "file": file, "at": at, "bytes": bytes, "why": why } }));
    }

    fn line(&mut self, place: LogPosition, mut line: Map<String, Value>, read: &ReadText<'_>) {
        let seq = line.get("seq").and_then(Value::as_u64);
        let Some((seq, Some(Value::Array(events)))) = seq.map(|seq| (seq, line.remove("events")))
        else {
            // Written by a version with another form of lines.
            let file = format!("log/{}", segments::file_name(place.segment));
            self.put(&json!({ "unknown": { "file": file, "at": place.offset, "line": line } }));
            return;
        };
        let next = self.next_seq.unwrap_or(0);
        if seq < next && seq < place.segment {
            // The copy of a line that was already exported.
            return;
        }
        if seq < next {
            self.damaged(place, 0, "it repeats the seq of another line");
            return;
        }
        if let Some(from) = self.next_seq.filter(|next| *next < seq) {
            self.done.missing_events += seq - from;
            let why = if self.is_after_damage { "damaged lines" } else { "unknown" };
            let missing = json!({ "from_seq": from, "to_seq": seq - 1, "why": why });
            self.put(&json!({ "missing": missing }));
        }
        self.is_after_damage = false;
        let at = line.get("ts").and_then(Value::as_i64).map(iso8601);
        for (index, mut event) in (0..).zip(events) {
            self.done.missing_texts += resolve(&mut event, read);
            self.done.events += 1;
            let mut exported = Map::new();
            exported.insert("seq".to_owned(), Value::from(seq.saturating_add(index)));
            exported.insert("at".to_owned(), json!(at));
            for (field, value) in &line {
                if !["seq", "crc"].contains(&field.as_str()) {
                    exported.insert(field.clone(), value.clone());
                }
            }
            exported.insert("event".to_owned(), event);
            self.next_seq = Some(seq.saturating_add(index).saturating_add(1));
            self.put(&Value::Object(exported));
        }
    }
}

/// Puts the long texts of an event into it. Returns how many cannot be read; those keep their place, and say why.
fn resolve(value: &mut Value, read: &ReadText<'_>) -> u64 {
    match value {
        Value::Object(fields) => {
            if fields.len() == 1
                && let Some(Value::Object(blob)) = fields.get("blob")
                && let Some(id) = blob.get("id").and_then(Value::as_str)
            {
                let whole = read(id).and_then(|text| check_as_stored(&text, blob).map(|()| text));
                match whole {
                    Ok(text) => {
                        *value = json!({ "text": text });
                        return 0;
                    }
                    Err(why) => {
                        fields.insert("missing".to_owned(), Value::from(why.to_string()));
                        return 1;
                    }
                }
            }
            fields.values_mut().map(|field| resolve(field, read)).sum()
        }
        Value::Array(items) => items.iter_mut().map(|item| resolve(item, read)).sum(),
        _ => 0,
    }
}

/// Refuses a long text that is not as its line says.
fn check_as_stored(text: &str, blob: &Map<String, Value>) -> Result<(), LogError> {
    let Some(bytes) = blob.get("bytes").and_then(Value::as_u64) else { return Ok(()) };
    let sha256 = blob.get("sha256").and_then(Value::as_str);
    let sha256 = sha256.and_then(|hash| ContentHash::try_from(hash.to_owned()).ok());
    check_text(text, bytes, sha256.as_ref())
}

fn transcripts(log: &FileLog, lines: &mut Lines<'_, '_>) -> Result<(), LogError> {
    let directory = log.part(TRANSCRIPTS, "");
    let mut names = names_in_part(&directory, RealDisk.list(&directory))?;
    names.sort();
    for name in names {
        let task = name.strip_suffix(".jsonl").and_then(|task| TaskId::parse(task).ok());
        let Some(task) = task else { continue };
        let (path, mut at) = (log.part(TRANSCRIPTS, &name), 0);
        while !lines.has_ended {
            let (read, next) = match long_texts::lines_after(&path, at) {
                Ok(read) => read,
                Err(error) => {
                    lines.done.missing_transcripts += 1;
                    let missing = json!({ "task": task, "missing": error.to_string() });
                    lines.put(&json!({ "transcript": missing }));
                    break;
                }
            };
            for line in read.lines() {
                let line = match serde_json::from_str::<Value>(line) {
                    Ok(line) => json!({ "task": task, "line": line }),
                    Err(_) => json!({ "task": task, "unreadable": line }),
                };
                lines.done.transcript_lines += 1;
                lines.put(&json!({ "transcript": line }));
            }
            if next == at {
                break;
            }
            at = next;
        }
    }
    Ok(())
}

/// Writes the invisible characters of a JSON text as escapes: the text stays the same, and does nothing to a terminal.
fn visible(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for letter in json.chars() {
        if is_invisible(letter) {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                write!(shown, "\\u{unit:04x}").expect("writing to a string succeeds");
            }
        } else {
            shown.push(letter);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_put_in_its_place_wherever_that_is() {
        let id = uuid::Uuid::from_u128(7).to_string();
        let read =
            |asked: &str| if asked == id { Ok("long".to_owned()) } else { Err(LogError::Gone) };
        let blob = |id: &str, bytes: u64| json!({ "blob": { "id": id, "bytes": bytes } });
        let hashed = |text| {
            let sha256 = String::from(ContentHash::of(text));
            json!({ "blob": { "id": id, "bytes": 4, "sha256": sha256 } })
        };
        let more = json!([blob(&id, 5), blob("no", 1), hashed("lung"), hashed("long")]);
        let mut event = json!({ "x": { "body": blob(&id, 4), "more": more } });
        assert_eq!(resolve(&mut event, &read), 3);
        assert_eq!(event["x"]["body"], json!({ "text": "long" }));
        let why = |index: usize| &event["x"]["more"][index]["missing"];
        assert_eq!(*why(0), "this text is damaged on disk: 4 bytes are there, and 5 were stored");
        assert_eq!(*why(1), "the log no longer holds this");
        assert_eq!(*why(2), LogError::ChangedText.to_string());
        assert_eq!(event["x"]["more"][3], json!({ "text": "long" }));
        let mut words = json!({ "text": "{\"blob\":{\"id\":\"x\"}}" });
        assert_eq!(resolve(&mut words, &read), 0, "a text is no field");
    }

    #[test]
    fn invisible_characters_are_escaped_and_read_back() {
        let odd = json!({ "a": "x\u{1b}[2J\u{202e}\u{e0041}\u{9b}é" });
        let shown = visible(&odd.to_string());
        assert!(!shown.chars().any(is_invisible), "{shown}");
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), odd);
    }
}
