//! Replacing a segment that could not be synced.
//!
//! Other processes have read its lines, which may not be on disk: the system forgets data that it could not write. So the next writer
//! copies the whole segment into a new one, adds a `segment_failed`, syncs the copy, and only then gives it its name. From then on the
//! old one is not read: its readers begin again from a snapshot. A retried command finds its earlier events in the new one, so they
//! are on disk.
//!
//! The first line of a replacement tells it from other segments: its seq is below the name of the segment. Versions that do not know
//! of replacements read both segments, and skip the lines that they have already read. A position in the old segment is the same
//! offset in the new one.
//!
//! A crash before the rename leaves a temporary file, which the next attempt replaces. All steps are done under the lock.

use std::io;

use super::line_format::{self, Decoded};
use super::segments::{Next, RawLine, Scope, Segments};
use crate::bus::event::{Entry, Event};
use crate::bus::storage::file::FileLog;
use crate::bus::storage::file::io_failure::failed;
use crate::bus::storage::{LogError, LogPosition, Replica};
use crate::sys::random_ids;

/// The name of a replacement while it is written, which is not the name of a segment.
const TEMPORARY: &str = "replacement.tmp";

impl Segments {
    /// Leaves out replaced segments.
    pub(crate) fn leave_out_replaced(&mut self) -> Result<(), LogError> {
        for failed in self.failed.clone() {
            if let Some(replacement) = self.replacement_of(failed)? {
                // Segments between the two were begun and never written to.
                let is_read = |name: &u64| *name < failed || *name >= replacement;
                self.names.retain(is_read);
            }
        }
        Ok(())
    }

    /// Finds the replacement of a failed segment: the next one that has a line, if it begins with a copy.
    fn replacement_of(&mut self, failed: u64) -> Result<Option<u64>, LogError> {
        let mut next = failed;
        if !self.has(failed) {
            return Ok(None);
        }
        while let Some(segment) = self.next(next) {
            if let Some(first) = self.first_seq(segment)? {
                return Ok((first < segment).then_some(segment));
            }
            next = segment;
        }
        Ok(None)
    }

    /// Returns the seq of the first readable line of a segment.
    fn first_seq(&mut self, segment: u64) -> Result<Option<u64>, LogError> {
        if let Some(first) = self.first_seqs.get(&segment) {
            return Ok(Some(*first));
        }
        let mut first = None;
        let beginning = LogPosition { segment, offset: 0 };
        self.walk(beginning, usize::MAX, Scope::Segment, &mut |_, _, line| {
            first = match line {
                RawLine::Whole(line) => match line_format::decode(line) {
                    Decoded::Entry { entry, .. } => Some(entry.seq),
                    // The reader of the segment reports it.
                    Decoded::Newer => Some(segment),
                    Decoded::Damaged => None,
                },
                RawLine::Unreadable(_) => None,
            };
            Ok(match first {
                Some(_) => Next::Enough,
                None => Next::On,
            })
        })?;
        if let Some(first) = first {
            self.first_seqs.insert(segment, first);
        }
        Ok(first)
    }

    /// Returns the position to read instead of this one: the same offset in the replacement, if its segment has one.
    pub(crate) fn standing(&mut self, place: LogPosition) -> Result<LogPosition, LogError> {
        if place.segment == 0 || self.has(place.segment) {
            return Ok(place);
        }
        let Some(segment) = self.next(place.segment) else {
            return Ok(place);
        };
        let is_copy = self.first_seq(segment)?.is_some_and(|first| first < segment);
        Ok(if is_copy { LogPosition { segment, ..place } } else { place })
    }

    /// Creates a segment of these lines. It is on disk before any process can see it, and survives a power cut when this returns.
    fn create_whole(&mut self, segment: u64, lines: &[u8]) -> Result<(), LogError> {
        let path = self.path(segment);
        let temporary = self.directory.join(TEMPORARY);
        let write = || {
            match self.disk.unlink(&temporary) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let file = self.disk.create_new(&temporary)?;
            file.append_all(lines)?;
            file.sync()?;
            self.disk.rename_new(&temporary, &path)
        };
        write().map_err(|error| failed("create", &path, error))?;
        self.settled = None;
        self.sync_directory()
    }
}

impl FileLog {
    /// Returns the segment that takes no further lines because it could not be synced: the one in use, or the one before it while the
    /// one in use is still empty.
    pub(crate) fn broken_off(&self, replica: &Replica) -> Option<u64> {
        let segment = replica.place.segment;
        let has_failed =
            |segment: &u64| self.syncer.has_failed(*segment) || self.segments.has_failed(*segment);
        if has_failed(&segment) {
            return Some(segment);
        }
        let is_unused = segment > 0 && replica.next_seq <= segment;
        let before = is_unused.then(|| self.segments.previous(segment));
        before.flatten().filter(has_failed)
    }

    /// Replaces a segment that could not be synced. The caller holds the lock and has read everything.
    pub(crate) fn replace(&mut self, replica: &Replica, broken: u64) -> Result<(), LogError> {
        let path = self.segments.path(broken);
        // Other processes must see why it is replaced, even after a power cut.
        self.syncer.mark(&path).map_err(|error| failed("note the failed sync of", &path, error))?;
        let mut lines = self.disk.read(&path).map_err(|error| failed("read", &path, error))?;
        let whole = lines.iter().rposition(|byte| *byte == b'\n');
        lines.truncate(whole.map_or(0, |end| end + 1));
        let after_all = self.segments.newest().unwrap_or(0).saturating_add(1);
        let now = (self.options.clock)();
        let notice = Entry {
            seq: self.next_seq(replica).max(after_all),
            ts: now.wall_ms,
            tick: now.tick,
            id: random_ids::command(),
            by: None,
            events: vec![Event::SegmentFailed { segment: broken }],
        };
        lines.extend(line_format::encode(&notice));
        self.segments.create_whole(notice.seq, &lines)
    }

    /// Makes sure that the next sync of this process covers the whole state, for a command that was already done.
    pub(crate) fn rely_on(&mut self, replica: &Replica) -> Result<(), LogError> {
        let LogPosition { segment, offset } = replica.place;
        if segment == 0 {
            return Ok(());
        }
        if is_young(replica) {
            self.segments.sync_directory()?;
        }
        self.syncer.continues_in(segment);
        if !self.syncer.has_synced(replica.place)
            && let Some(file) = self.segments.file(segment)?
        {
            let path = self.segments.path(segment);
            self.syncer.appended((segment, offset), &file, path);
        }
        Ok(())
    }
}

/// Says whether the creator of the segment in use may have died before its name was on disk: there is at most its first event in it.
pub(crate) fn is_young(replica: &Replica) -> bool {
    replica.next_seq <= replica.place.segment.saturating_add(1)
}
