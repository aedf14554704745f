//! The segments of a log: their list, their files, and the walk over their lines.
//!
//! A walk keeps no byte after the last newline, not even between two reads: the holder of the lock may remove that line, and write
//! another one in its place.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::line_format::{MAX_LINE_BYTES, MAX_SEQ};
use crate::bus::storage::file::io_failure::failed;
use crate::bus::storage::{LogError, LogPosition};
use crate::domain::limits;
use crate::sys::clock;
use crate::sys::fs::bounded_file::contains;
use crate::sys::fs::disk::{Disk, DiskFile, Stamp};

/// How much is read at once, unless a line is longer.
pub(crate) const CHUNK_BYTES: usize = 64 * 1024;

/// A directory that changed this shortly before it was listed may change again and keep its time: systems count file times in steps
/// of up to 10 ms.
const UNSETTLED_MS: i64 = 100;

/// The number of files kept open: the segment in use, and those with the texts that were read last.
const OPEN_FILES: usize = 4;

/// The segments of one log.
pub(crate) struct Segments {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) directory: PathBuf,
    identity: Stamp,
    /// The first seq of each segment except replaced ones, oldest first.
    pub(crate) names: Vec<u64>,
    /// Whether the log still has its first event.
    has_beginning: bool,
    /// The segments that some process could not sync.
    pub(crate) failed: BTreeSet<u64>,
    /// The seqs of the first lines, as far as they were read.
    pub(crate) first_seqs: BTreeMap<u64, u64>,
    /// The stamp of the directory while `names` is current; none if that is unknown.
    pub(crate) settled: Option<Stamp>,
    open: BTreeMap<u64, Arc<dyn DiskFile>>,
    buffer: Vec<u8>,
}

/// The bytes between two positions.
pub(crate) enum RawLine<'a> {
    /// A line without its newline.
    Whole(&'a [u8]),
    /// This many bytes that are no line: too long, or unfinished at the end of a completed segment.
    Unreadable(u64),
}

/// How far a walk goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// To the end of its first segment.
    Segment,
    /// To the end of the log.
    Log,
}

/// Why a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// There are no more lines.
    AtTheEnd,
    /// The limit was reached.
    Limit,
    /// The caller ended it.
    Enough,
    /// The next line cannot be read. Only the holder of the lock can tell whether it is damaged or just being written.
    Unclear,
    /// The segment is gone.
    Gone,
}

/// Where and why a walk ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WalkEnd {
    /// The position after the last line.
    pub place: LogPosition,
    /// The bytes of an unfinished line after that position.
    pub unfinished: u64,
    pub stop: Stop,
}

/// How a walk continues at a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The walk continues after it.
    On,
    /// The walk ends after it.
    Enough,
    /// The walk ends before it.
    Unclear,
}

/// Called with the position of a line, the position after it, and the line.
pub(crate) type OnLine<'a> =
    dyn FnMut(LogPosition, LogPosition, RawLine<'_>) -> Result<Next, LogError> + 'a;

impl Segments {
    pub(crate) fn open(disk: Arc<dyn Disk>, directory: PathBuf) -> Result<Self, LogError> {
        let identity = disk.stamp(&directory).map_err(|error| failed("open", &directory, error))?;
        Ok(Self {
            disk,
            directory,
            identity,
            names: Vec::new(),
            has_beginning: true,
            failed: BTreeSet::new(),
            first_seqs: BTreeMap::new(),
            settled: None,
            open: BTreeMap::new(),
            buffer: vec![0; CHUNK_BYTES],
        })
    }

    pub(crate) fn path(&self, segment: u64) -> PathBuf {
        self.directory.join(file_name(segment))
    }

    /// Lists the segments. Costs one system call if nothing has changed.
    pub(crate) fn refresh(&mut self) -> Result<(), LogError> {
        let stamp = self.disk.stamp(&self.directory).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                LogError::Removed
            } else {
                failed("look into", &self.directory, error)
            }
        })?;
        if stamp.identity != self.identity.identity {
            return Err(LogError::Removed);
        }
        if self.settled == Some(stamp) {
            return Ok(());
        }
        let names = self
            .disk
            .list(&self.directory)
            .map_err(|error| failed("list", &self.directory, error))?;
        let mut present: Vec<_> = names.iter().filter_map(|name| parse(name)).collect();
        present.sort_unstable();
        if present.last() < self.names.last() {
            // Only old segments are ever removed. Without the newest the log would look empty, or older than it is.
            return Err(LogError::Removed);
        }
        self.names = present;
        self.failed = names.iter().filter_map(|name| parse_mark(name)).collect();
        self.has_beginning = self.oldest().is_none_or(|oldest| oldest == 1);
        self.leave_out_replaced()?;
        self.check_open_files()?;
        let age_ms = i128::from(clock::now().wall_ms) - stamp.modified_ns / 1_000_000;
        self.settled = (age_ms > i128::from(UNSETTLED_MS)).then_some(stamp);
        Ok(())
    }

    /// Checks that the paths of the open files still name the same files, and closes removed ones.
    fn check_open_files(&mut self) -> Result<(), LogError> {
        let present = &self.names;
        self.open.retain(|segment, _| present.binary_search(segment).is_ok());
        let mut retired = Vec::new();
        for (segment, file) in &self.open {
            let path = self.path(*segment);
            let named = self.disk.identity(&path);
            let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
            if self.newest() != Some(*segment) && named.as_ref().is_err_and(is_gone) {
                // Retention removed it after it was listed.
                retired.push(*segment);
                continue;
            }
            let opened = file.identity();
            if named.is_err() || named.ok() != opened.ok() {
                return Err(LogError::Removed);
            }
        }
        for segment in retired {
            self.open.remove(&segment);
            self.names.retain(|name| *name != segment);
        }
        Ok(())
    }

    /// Says whether the log had its first event at the last listing.
    pub(crate) fn has_beginning(&self) -> bool {
        self.has_beginning
    }

    /// Returns the oldest segment of the last listing.
    pub(crate) fn oldest(&self) -> Option<u64> {
        self.names.first().copied()
    }

    /// Returns the beginning of each segment of the last listing, oldest first.
    pub(crate) fn beginnings(&self) -> Vec<LogPosition> {
        let begins = |segment: &u64| LogPosition { segment: *segment, offset: 0 };
        self.names.iter().map(begins).collect()
    }

    /// Says whether the bytes of a segment contain a text, which may not be the text of an event.
    pub(crate) fn may_hold(&self, segment: u64, text: &str) -> Result<bool, LogError> {
        let path = self.path(segment);
        match self.disk.open(&path).and_then(|file| contains(&*file, text.as_bytes(), CHUNK_BYTES))
        {
            // Retention removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            outcome => outcome.map_err(|error| failed("read", &path, error)),
        }
    }

    /// Returns the newest segment of the last listing.
    pub(crate) fn newest(&self) -> Option<u64> {
        self.names.last().copied()
    }

    /// Says whether the last listing had this segment.
    pub(crate) fn has(&self, segment: u64) -> bool {
        self.names.binary_search(&segment).is_ok()
    }

    /// Says whether the last listing had a mark that some process could not sync this segment.
    pub(crate) fn has_failed(&self, segment: u64) -> bool {
        self.failed.contains(&segment)
    }

    /// Says whether a segment has appeared since the last listing. If so, the next refresh lists all again.
    ///
    /// For the holder of the lock, which must not miss the next segment. The time of the directory may not show it: with files on
    /// another machine, it comes from another clock.
    pub(crate) fn has_appeared(&mut self, segment: u64) -> bool {
        let appeared = !self.has(segment) && self.disk.identity(&self.path(segment)).is_ok();
        if appeared {
            self.settled = None;
        }
        appeared
    }

    /// Returns the next segment of the last listing.
    pub(crate) fn next(&self, segment: u64) -> Option<u64> {
        let next = self.names.partition_point(|name| *name <= segment);
        self.names.get(next).copied()
    }

    /// Returns the previous segment of the last listing.
    pub(crate) fn previous(&self, segment: u64) -> Option<u64> {
        let before = self.names.partition_point(|name| *name < segment);
        before.checked_sub(1).map(|index| self.names[index])
    }

    /// Says whether a refresh costs one system call until something changes.
    #[cfg(test)]
    pub(crate) fn is_settled(&self) -> bool {
        self.settled.is_some()
    }

    /// Returns the size of the read buffer.
    #[cfg(test)]
    pub(crate) fn buffer_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Returns the number of bytes between two positions, by the last listing; none if some of them are gone.
    pub(crate) fn bytes_between(&self, from: LogPosition, to: LogPosition) -> Option<u64> {
        let mut bytes = 0;
        let between = from.segment..to.segment;
        if !between.is_empty() && !self.has(from.segment) {
            return None;
        }
        for segment in self.names.iter().filter(|name| between.contains(name)) {
            let file = self.disk.open(&self.path(*segment)).ok()?;
            bytes += file.length().ok()?;
        }
        Some((bytes + to.offset).saturating_sub(from.offset))
    }

    /// Returns the file of a segment; none if it does not exist.
    pub(crate) fn file(&mut self, segment: u64) -> Result<Option<Arc<dyn DiskFile>>, LogError> {
        if let Some(file) = self.open.get(&segment) {
            return Ok(Some(Arc::clone(file)));
        }
        let path = self.path(segment);
        match self.disk.open(&path) {
            Ok(file) => {
                self.keep_open(segment, &file);
                Ok(Some(file))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("open", &path, error)),
        }
    }

    fn keep_open(&mut self, segment: u64, file: &Arc<dyn DiskFile>) {
        if self.open.len() >= OPEN_FILES {
            // The newest segment is in use; any other may be closed.
            self.open.pop_first();
        }
        self.open.insert(segment, Arc::clone(file));
    }

    /// Creates a segment, which survives a power cut when this returns.
    pub(crate) fn create(&mut self, segment: u64) -> Result<Arc<dyn DiskFile>, LogError> {
        let path = self.path(segment);
        let file = self.disk.create_new(&path).map_err(|error| failed("create", &path, error))?;
        self.settled = None;
        self.sync_directory()?;
        self.keep_open(segment, &file);
        Ok(file)
    }

    pub(crate) fn sync_directory(&self) -> Result<(), LogError> {
        self.disk
            .sync_directory(&self.directory)
            .map_err(|error| failed("sync", &self.directory, error))
    }

    /// Walks over the lines from a position on, through all segments or one, until `on_line` ends it or `limit` bytes are read.
    pub(crate) fn walk(
        &mut self,
        from: LogPosition,
        limit: usize,
        scope: Scope,
        on_line: &mut OnLine<'_>,
    ) -> Result<WalkEnd, LogError> {
        let mut walked = WalkEnd { place: from, unfinished: 0, stop: Stop::AtTheEnd };
        let mut left = limit;
        if walked.place.segment == 0 {
            self.refresh()?;
            match self.oldest() {
                None => return Ok(walked),
                Some(segment) => walked.place = LogPosition { segment, offset: 0 },
            }
        }
        loop {
            let segment = walked.place.segment;
            let Some(file) = self.file(segment)? else {
                self.refresh()?;
                walked.stop = Stop::Gone;
                return Ok(walked);
            };
            self.walk_segment(&*file, &mut walked, &mut left, on_line)?;
            if walked.stop != Stop::AtTheEnd || scope == Scope::Segment {
                return Ok(walked);
            }
            self.refresh()?;
            if !self.has(segment) {
                walked.stop = Stop::Gone;
                return Ok(walked);
            }
            let Some(next) = self.next(segment) else {
                return Ok(walked);
            };
            // The creator of the next segment had finished this one, perhaps after this read.
            self.walk_segment(&*file, &mut walked, &mut left, on_line)?;
            if walked.stop != Stop::AtTheEnd {
                return Ok(walked);
            }
            let next = LogPosition { segment: next, offset: 0 };
            let (end, unfinished) = (walked.place, walked.unfinished);
            (walked.place, walked.unfinished) = (next, 0);
            let outcome = match unfinished {
                0 => Next::On,
                bytes => on_line(end, next, RawLine::Unreadable(bytes))?,
            };
            match outcome {
                Next::On => {}
                Next::Enough => {
                    walked.stop = Stop::Enough;
                    return Ok(walked);
                }
                Next::Unclear => {
                    (walked.place, walked.stop) = (end, Stop::Unclear);
                    return Ok(walked);
                }
            }
        }
    }

    /// Refuses a file that has no line for so long: each look would read all of it again, and only a person knows what it is.
    fn without_line_ends(&self, segment: u64) -> LogError {
        let most = limits::NO_LINE_BYTES >> 20;
        LogError::Refused {
            path: self.path(segment),
            reason: format!(
                "it has more than {most} MiB without the end of a line, which the bridge never \
                 writes. End all sessions, and restore that file from a copy, or cut it after its \
                 last whole line"
            ),
        }
    }

    /// Walks to the end of one segment.
    fn walk_segment(
        &mut self,
        file: &dyn DiskFile,
        walked: &mut WalkEnd,
        left: &mut usize,
        on_line: &mut OnLine<'_>,
    ) -> Result<(), LogError> {
        let segment = walked.place.segment;
        // The size of one read, and the bytes skipped of a line that is too long.
        let (mut chunk, mut dropped) = (CHUNK_BYTES, 0);
        loop {
            if self.buffer.len() < chunk {
                self.buffer.resize(chunk, 0);
            }
            let read = file
                .read_at(&mut self.buffer[..chunk], walked.place.offset + dropped)
                .map_err(|error| failed("read", &self.path(segment), error))?;
            let mut start = 0;
            while let Some(found) = newline(&self.buffer[start..read]) {
                let stop = start + found;
                let place = walked.place;
                walked.place.offset += dropped + (stop + 1 - start) as u64;
                let line = if dropped > 0 {
                    RawLine::Unreadable(walked.place.offset - place.offset)
                } else {
                    RawLine::Whole(&self.buffer[start..stop])
                };
                (start, dropped) = (stop + 1, 0);
                match on_line(place, walked.place, line)? {
                    Next::On => {}
                    Next::Enough => {
                        walked.stop = Stop::Enough;
                        return Ok(());
                    }
                    Next::Unclear => {
                        (walked.place, walked.stop) = (place, Stop::Unclear);
                        return Ok(());
                    }
                }
            }
            walked.unfinished = dropped + (read - start) as u64;
            if read < chunk {
                return Ok(());
            }
            // The rest is read again from its first byte, even past the limit, so that a line is always read in one piece.
            if start == 0 && chunk < MAX_LINE_BYTES {
                chunk = (chunk * 2).min(MAX_LINE_BYTES);
            } else if start == 0 {
                dropped += read as u64;
                if dropped > limits::NO_LINE_BYTES {
                    return Err(self.without_line_ends(segment));
                }
            } else {
                chunk = CHUNK_BYTES;
                *left = left.saturating_sub(start);
                if *left == 0 {
                    walked.stop = Stop::Limit;
                    return Ok(());
                }
            }
        }
    }
}

fn newline(bytes: &[u8]) -> Option<usize> {
    memchr::memchr(b'\n', bytes)
}

/// Returns the name of a segment's file.
pub(crate) fn file_name(segment: u64) -> String {
    format!("{segment:020}.jsonl")
}

/// Parses the first seq of a segment from its file name.
pub(crate) fn parse(name: &str) -> Option<u64> {
    seq(name.strip_suffix(".jsonl")?)
}

/// Returns the path of the mark of a segment that could not be synced.
pub(crate) fn mark(segment: &Path) -> PathBuf {
    segment.with_extension("failed")
}

/// Parses the first seq of a segment from the name of its mark.
fn parse_mark(name: &str) -> Option<u64> {
    seq(name.strip_suffix(".failed")?)
}

fn seq(digits: &str) -> Option<u64> {
    let number = digits.parse().ok()?;
    (digits.len() == 20 && (1..=MAX_SEQ).contains(&number)).then_some(number)
}
