//! Reads the history of a bus in parts and without its state, for a reader that keeps its own account of it, such as an index.

use std::path::Path;

use uuid::Uuid;

use super::history_lines::read_again;
use crate::bus::event::{Body, Entry, Event};
use crate::bus::storage::file::bus_directory::TRANSCRIPTS;
use crate::bus::storage::file::io_failure::names_in_part;
use crate::bus::storage::file::log::line_format::{self, Decoded};
use crate::bus::storage::file::log::segments::{Next, RawLine, Scope, Stop};
use crate::bus::storage::file::open_to_read::{Opened, open};
use crate::bus::storage::file::{FileLog, Proof, bus_json, long_texts, transcript_name};
use crate::bus::storage::stored_text::read_body;
use crate::bus::storage::{Log as _, LogError, LogPosition};
use crate::domain::ids::TaskId;
use crate::sys::fs::disk::{Disk as _, RealDisk, size_and_touched_ns};

/// The history of a bus.
pub struct HistoryReader {
    log: FileLog,
    bus: Uuid,
}

/// The history of a directory's bus.
pub enum History {
    /// No bus yet.
    Absent,
    /// A bus that was not created here, so it is not read.
    Foreign,
    Readable(Box<HistoryReader>),
}

/// A line of the log, read.
#[derive(Clone, Debug)]
pub struct HistoryEntry {
    pub place: LogPosition,
    /// The entry with the events that this version knows.
    pub entry: Entry,
    /// The index of each of these in the line.
    pub indices: Vec<u16>,
    /// The seq after its last event.
    pub next_seq: u64,
}

/// A transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptFile {
    pub task: TaskId,
    pub bytes: u64,
    /// When it was last written to, in nanoseconds since 1970.
    pub touched_ns: i128,
}

impl HistoryReader {
    /// Opens the history of the bus in a directory. Changes nothing.
    pub fn open(directory: &Path, proof: &Proof) -> Result<History, LogError> {
        let log = match open(directory, proof)? {
            Opened::Absent => return Ok(History::Absent),
            Opened::Foreign => return Ok(History::Foreign),
            Opened::Log(log) => *log,
        };
        let bus = bus_json::load(&*log.disk, directory)?.ok_or(LogError::Removed)?;
        Ok(History::Readable(Box::new(Self { log, bus })))
    }

    /// Returns the id of the bus.
    pub fn bus_id(&self) -> Uuid {
        self.bus
    }

    /// Returns the wall time.
    pub fn now_ms(&self) -> i64 {
        self.log.now().wall_ms
    }

    /// Returns the positions at which the parts of the log begin, oldest first.
    pub fn parts(&mut self) -> Result<Vec<LogPosition>, LogError> {
        self.log.parts()
    }

    /// Returns the bytes of the log from a position on, by the last listing.
    pub fn bytes_after(&self, position: LogPosition) -> u64 {
        let beginnings = self.log.segments.beginnings();
        let later = beginnings.iter().filter(|part| part.segment >= position.segment);
        let length = |part: &LogPosition| {
            size_and_touched_ns(&self.log.segments.path(part.segment)).map_or(0, |(bytes, _)| bytes)
        };
        later.map(length).sum::<u64>().saturating_sub(position.offset)
    }

    /// Reads lines from a position on, until `is_enough` says so of one, or the log ends. Damaged lines are passed over. Returns the
    /// lines, and the position after the last one read. [`LogError::Gone`] means that the position's part was removed.
    pub fn entries_after(
        &mut self,
        position: LogPosition,
        mut is_enough: impl FnMut(&HistoryEntry, u64) -> bool,
    ) -> Result<(Vec<HistoryEntry>, LogPosition), LogError> {
        let mut entries = Vec::new();
        self.log.segments.refresh()?;
        let position = self.log.segments.standing(position)?;
        let (disk, directory) = (std::sync::Arc::clone(&self.log.disk), self.log.part("log", ""));
        let walked = self.log.segments.walk(
            position,
            usize::MAX,
            Scope::Log,
            &mut |place, next, line| {
                let bytes = next.offset.saturating_sub(place.offset);
                let decoded = match line {
                    RawLine::Whole(line) => line_format::decode(line),
                    RawLine::Unreadable(_) => Decoded::Damaged,
                };
                let decoded = if decoded == Decoded::Damaged {
                    let name = crate::bus::storage::file::log::segments::file_name(place.segment);
                    let again = read_again(&*disk, &directory.join(name), place.offset, bytes);
                    again.map_or(Decoded::Damaged, |line| line_format::decode(&line))
                } else {
                    decoded
                };
                match decoded {
                    Decoded::Entry { entry, indices, count } => {
                        let next_seq = entry.seq.saturating_add(count);
                        let read = HistoryEntry { place, entry, indices, next_seq };
                        let ends = is_enough(&read, bytes);
                        entries.push(read);
                        Ok(if ends { Next::Enough } else { Next::On })
                    }
                    Decoded::Damaged => Ok(Next::On),
                    Decoded::Newer => Err(LogError::Newer),
                }
            },
        )?;
        if walked.stop == Stop::Gone && entries.is_empty() {
            return Err(LogError::Gone);
        }
        Ok((entries, walked.place))
    }

    /// Reads one event again.
    pub fn event_at(&mut self, place: LogPosition, index: u16) -> Result<Event, LogError> {
        self.log.event_at(place, index)
    }

    /// Reads a text of an event.
    pub fn text(&mut self, body: &Body) -> Result<String, LogError> {
        read_body(&mut self.log, body.clone())
    }

    /// Lists the transcripts.
    pub fn transcripts(&self) -> Result<Vec<TranscriptFile>, LogError> {
        let directory = self.log.part(TRANSCRIPTS, "");
        let mut found = Vec::new();
        for name in names_in_part(&directory, RealDisk.list(&directory))? {
            let task = name.strip_suffix(".jsonl").and_then(|task| TaskId::parse(task).ok());
            let seen = size_and_touched_ns(&directory.join(&name));
            // It may just have been removed.
            if let (Some(task), Ok((bytes, touched_ns))) = (task, seen) {
                found.push(TranscriptFile { task, bytes, touched_ns });
            }
        }
        found.sort_by_key(|file| file.touched_ns);
        Ok(found)
    }

    /// Reads whole lines of a transcript from an offset on, at least one if there is one. Returns them, and the offset after them.
    pub fn transcript_after(&self, task: &TaskId, from: u64) -> Result<(String, u64), LogError> {
        long_texts::lines_after(&self.log.part(TRANSCRIPTS, &transcript_name(task)), from)
    }
}
