//! Reading the log: from a snapshot on, new entries, and single events again.
//!
//! Only the holder of the lock knows the log for certain: without it, a reader may see a line that another process is just removing.
//! So a reader without the lock stops before a line that it cannot read, and reads that line under the lock, if the lock is free.
//! Until then it is behind, and never wrong.

use super::last_line::{LastLine, TAIL_BYTES, Tail};
use super::line_format::{self, Decoded};
use super::segments::{self, CHUNK_BYTES, Next, RawLine, Scope, Stop, WalkEnd};
use crate::bus::event::{Entry, Event};
use crate::bus::storage::file::FileLog;
use crate::bus::storage::file::io_failure::failed;
use crate::bus::storage::{LogError, LogPosition, Replica};

/// The seqs left free after a damaged last line, for the events that it may have had.
const FREE_SEQS: u64 = 1_024;

/// The shortest possible event in the log. It limits the number of events in a line of a given length.
const SHORTEST_EVENT_BYTES: u64 = 16;

/// A longer line is read again instead of kept.
const KEPT_LINE_BYTES: u64 = 64 * 1024;

/// Whether a reader holds the lock, so that nothing changes while it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holding {
    /// Another process may be writing.
    Nothing,
    Lock,
}

impl FileLog {
    /// Loads the newest usable snapshot, if there is one, and then reads the rest of the log.
    pub(crate) fn load(&mut self) -> Result<Replica, LogError> {
        let newest = self.snapshots.newest();
        let mut replica = newest.replica.unwrap_or_default();
        // An older snapshot may lack what only the newer one holds.
        replica.skipped_events |= newest.is_for_newer;
        self.segments.refresh()?;
        if replica.place.segment == 0 && !self.segments.has_beginning() {
            return Err(if newest.is_for_newer {
                LogError::Newer
            } else {
                self.without_beginning()
            });
        }
        self.settle(&mut replica)?;
        let walked = self.read(&mut replica, usize::MAX, Scope::Log)?;
        match walked.stop {
            Stop::Gone => Err(LogError::Gone),
            _ => Ok(replica),
        }
    }

    /// Refuses the bus: a process that began with the rest would think the team empty, and give names and requests away a second time.
    fn without_beginning(&self) -> LogError {
        LogError::Refused {
            path: self.directory.clone(),
            reason: "the oldest part of its log is missing, and no snapshot in `snapshot/` can be \
                     read in its place. Restore the newest two snapshots from a copy, or stop the \
                     team and remove the directory to start an empty bus"
                .to_owned(),
        }
    }

    /// Moves the position of a snapshot to where the log continues, if the log ends before it or has lost its old segments.
    ///
    /// A snapshot is written after the log is on disk, so the former means that a disk lied about a sync. No further line goes into such
    /// a segment: it would grow past the snapshot's position.
    fn settle(&mut self, replica: &mut Replica) -> Result<(), LogError> {
        let place = replica.place;
        if place.segment == 0 {
            return Ok(());
        }
        let segment = if self.segments.has(place.segment) {
            place.segment
        } else if let Some(segment) = self.segments.next(place.segment) {
            replica.place = LogPosition { segment, offset: 0 };
            return Ok(());
        } else {
            self.segments.newest().unwrap_or(0)
        };
        let Some(file) = self.segments.file(segment)? else {
            replica.place = LogPosition::default();
            return Ok(());
        };
        let length =
            file.length().map_err(|error| failed("read", &self.segments.path(segment), error))?;
        if segment == place.segment && place.offset <= length {
            return Ok(());
        }
        tracing::warn!(
            segment = place.segment,
            offset = place.offset,
            "the log ends before the position of its newest snapshot"
        );
        self.syncer.note_failed(segment);
        replica.place = LogPosition { segment, offset: length };
        Ok(())
    }

    /// Reads new entries of the segment in use, without a look for a newer segment: that halves the system calls.
    pub(crate) fn read_segment(&mut self, replica: &mut Replica) -> Result<WalkEnd, LogError> {
        self.read(replica, usize::MAX, Scope::Segment)
    }

    /// Reads up to `limit` bytes of new entries into a replica. If its segment is gone, it begins again with the newest snapshot.
    pub(crate) fn read_new(
        &mut self,
        replica: &mut Replica,
        limit: usize,
    ) -> Result<WalkEnd, LogError> {
        let walked = self.read(replica, limit, Scope::Log)?;
        if walked.stop != Stop::Gone {
            return Ok(walked);
        }
        self.begin_again(replica)?;
        self.read(replica, limit, Scope::Log)
    }

    /// Reads likewise for the holder of the lock, to the very end of the log.
    pub(crate) fn read_locked(
        &mut self,
        replica: &mut Replica,
        limit: usize,
    ) -> Result<WalkEnd, LogError> {
        let walked = self.read_under_lock(replica, limit);
        self.damage.tell();
        walked
    }

    fn read_under_lock(
        &mut self,
        replica: &mut Replica,
        limit: usize,
    ) -> Result<WalkEnd, LogError> {
        let mut walked = self.walk_into(replica, limit, Scope::Log, Holding::Lock)?;
        if walked.stop == Stop::Gone {
            self.begin_again(replica)?;
            walked = self.walk_into(replica, limit, Scope::Log, Holding::Lock)?;
        }
        let next_seq = self.next_seq(replica);
        if walked.stop == Stop::AtTheEnd && self.segments.has_appeared(next_seq) {
            walked = self.walk_into(replica, limit, Scope::Log, Holding::Lock)?;
        }
        Ok(walked)
    }

    /// Reads without the lock, and a line that cannot be read so under the lock, if that is free.
    fn read(
        &mut self,
        replica: &mut Replica,
        limit: usize,
        scope: Scope,
    ) -> Result<WalkEnd, LogError> {
        let walked = self.read_all(replica, limit, scope);
        self.damage.tell();
        walked
    }

    fn read_all(
        &mut self,
        replica: &mut Replica,
        limit: usize,
        scope: Scope,
    ) -> Result<WalkEnd, LogError> {
        loop {
            let walked = self.walk_into(replica, limit, scope, Holding::Nothing)?;
            if walked.stop != Stop::Unclear {
                return Ok(walked);
            }
            let Some(_guard) = self.try_lock()? else {
                return Ok(walked);
            };
            self.walk_into(replica, CHUNK_BYTES, scope, Holding::Lock)?;
        }
    }

    fn begin_again(&mut self, replica: &mut Replica) -> Result<(), LogError> {
        if !self.lock.is_in_place() {
            return Err(LogError::Removed);
        }
        let damaged_lines = replica.damaged_lines;
        *replica = self.load()?;
        replica.damaged_lines += damaged_lines;
        Ok(())
    }

    fn walk_into(
        &mut self,
        replica: &mut Replica,
        limit: usize,
        scope: Scope,
        holding: Holding,
    ) -> Result<WalkEnd, LogError> {
        let from = replica.place;
        if self.is_cut_off(from)? {
            return match holding {
                Holding::Nothing => Ok(WalkEnd { place: from, unfinished: 0, stop: Stop::Unclear }),
                Holding::Lock => Err(self.cut_off(from)),
            };
        }
        let (damaged_end, last, tail) = (&mut self.damaged_end, &mut self.last, &mut self.tail);
        let damage = &mut self.damage;
        let walked = self.segments.walk(from, limit, scope, &mut |place, next, line| {
            match take(replica, place, &line)? {
                LineOutcome::Known => {}
                LineOutcome::Damaged if holding == Holding::Nothing => return Ok(Next::Unclear),
                LineOutcome::Applied(events) => {
                    *damaged_end = None;
                    let is_short = next.offset - place.offset <= KEPT_LINE_BYTES;
                    *last = is_short.then_some(LastLine { place, events });
                }
                LineOutcome::Damaged => {
                    let bytes = match line {
                        RawLine::Whole(line) => line.len() as u64,
                        RawLine::Unreadable(bytes) => bytes,
                    };
                    let free = FREE_SEQS.max(bytes / SHORTEST_EVENT_BYTES);
                    let before =
                        damaged_end.take_if(|(end, _)| *end == place).map_or(0, |(_, free)| free);
                    *damaged_end = Some((next, before.saturating_add(free)));
                    replica.damaged_lines += 1;
                    damage.note(place);
                }
            }
            *tail = match line {
                RawLine::Whole(line) => Tail::of(line, next),
                RawLine::Unreadable(_) => None,
            };
            replica.place = next;
            Ok(Next::On)
        })?;
        // An empty segment at the end moves the position without a line.
        replica.place = walked.place;
        Ok(walked)
    }

    /// Says whether the lines that were read before a position are gone: the file is shorter, or was cut and has grown again.
    fn is_cut_off(&mut self, place: LogPosition) -> Result<bool, LogError> {
        if place.offset == 0 {
            return Ok(false);
        }
        // The reader finds out that it is gone.
        let Some(file) = self.segments.file(place.segment)? else {
            return Ok(false);
        };
        let tail = self.tail.as_ref().filter(|tail| tail.place == place);
        let mut bytes = [0; TAIL_BYTES + 1];
        let end = match tail {
            Some(_) => &mut bytes[..],
            // Of a snapshot's position, only the least length of the file is known.
            None => &mut bytes[..1],
        };
        let read = file
            .read_at(end, place.offset - end.len() as u64)
            .map_err(|error| failed("read", &self.segments.path(place.segment), error))?;
        let is_shorter = read < end.len();
        let is_other =
            |tail: &Tail| bytes[..TAIL_BYTES] != tail.bytes || bytes[TAIL_BYTES] != b'\n';
        Ok(is_shorter || tail.is_some_and(is_other))
    }

    /// Refuses the bus: a writer would reuse seqs and names, and contradict the processes that have read the missing lines.
    fn cut_off(&self, place: LogPosition) -> LogError {
        LogError::Refused {
            path: self.segments.path(place.segment),
            reason: format!(
                "something other than the bridge truncated or changed `log/{}` after this session \
                 read it, so part of the team's history is missing. End all sessions, restore that \
                 file from a copy if there is one, and start again; without a copy, the missing \
                 part is lost",
                segments::file_name(place.segment)
            ),
        }
    }

    /// Returns the seq of the next entry.
    pub(crate) fn next_seq(&self, replica: &Replica) -> u64 {
        let free = match self.damaged_end {
            Some((end, free)) if end == replica.place => free,
            _ => 0,
        };
        // A segment is named after its first seq, even while it is empty.
        let next = replica.next_seq.max(1).saturating_add(free);
        next.max(replica.place.segment)
    }

    /// Reads at most `max` entries from a position on.
    pub(crate) fn entries_after(
        &mut self,
        place: LogPosition,
        max: usize,
    ) -> Result<(Vec<(LogPosition, Entry)>, LogPosition), LogError> {
        let mut entries = Vec::new();
        if max == 0 {
            return Ok((entries, place));
        }
        let mut from = self.segments.standing(place)?;
        loop {
            let walked = self.walk_for_entries(from, max, &mut entries)?;
            let standing = self.segments.standing(walked.place)?;
            // A segment that was replaced meanwhile continues in its replacement.
            if walked.stop == Stop::Gone && standing != walked.place {
                from = standing;
                continue;
            }
            if walked.stop == Stop::Gone && entries.is_empty() {
                return Err(LogError::Gone);
            }
            return Ok((entries, walked.place));
        }
    }

    fn walk_for_entries(
        &mut self,
        from: LogPosition,
        max: usize,
        entries: &mut Vec<(LogPosition, Entry)>,
    ) -> Result<WalkEnd, LogError> {
        self.segments.walk(from, usize::MAX, Scope::Log, &mut |place, _, line| {
            if let RawLine::Whole(line) = line {
                match line_format::decode(line) {
                    Decoded::Entry { entry, .. } => entries.push((place, entry)),
                    Decoded::Damaged => {}
                    Decoded::Newer => return Err(LogError::Newer),
                }
            }
            Ok(if entries.len() < max { Next::On } else { Next::Enough })
        })
    }

    /// Reads one event of the line at a position.
    pub(crate) fn read_event(&mut self, place: LogPosition, index: u16) -> Result<Event, LogError> {
        if place.segment == 0 {
            return Err(LogError::Gone);
        }
        if let Some(last) = self.last.as_ref().filter(|last| last.place == place) {
            let event = last.events.iter().find(|(known, _)| *known == index);
            return event.map_or(Err(LogError::Gone), |(_, event)| Ok(event.clone()));
        }
        let mut found = Err(LogError::Gone);
        let place = self.segments.standing(place)?;
        self.segments.walk(place, usize::MAX, Scope::Segment, &mut |at, _, line| {
            if let RawLine::Whole(line) = line
                && at == place
            {
                found = match line_format::decode(line) {
                    Decoded::Entry { entry, indices, .. } => indices
                        .iter()
                        .position(|known| *known == index)
                        .map(|known| entry.events[known].clone())
                        .ok_or(LogError::Gone),
                    Decoded::Damaged => Err(LogError::Gone),
                    Decoded::Newer => Err(LogError::Newer),
                };
            }
            Ok(Next::Enough)
        })?;
        found
    }
}

enum LineOutcome {
    Applied(Vec<(u16, Event)>),
    /// It is the copy of a line that was already read in the replaced segment.
    Known,
    Damaged,
}

/// Applies a line to a replica.
fn take(
    replica: &mut Replica,
    place: LogPosition,
    line: &RawLine<'_>,
) -> Result<LineOutcome, LogError> {
    let RawLine::Whole(line) = line else {
        return Ok(LineOutcome::Damaged);
    };
    match line_format::decode(line) {
        // Only copies have a seq below the name of their segment.
        Decoded::Entry { entry, .. }
            if entry.seq < replica.next_seq && entry.seq < place.segment =>
        {
            Ok(LineOutcome::Known)
        }
        // No append writes a seq twice, so another program put the line there.
        Decoded::Entry { entry, .. } if entry.seq < replica.next_seq => Ok(LineOutcome::Damaged),
        Decoded::Entry { entry, indices, count } => {
            replica.state.apply(&entry, &indices, place);
            replica.next_seq = entry.seq.saturating_add(count);
            replica.skipped_events |= (indices.len() as u64) < count;
            Ok(LineOutcome::Applied(indices.into_iter().zip(entry.events).collect()))
        }
        Decoded::Damaged => Ok(LineOutcome::Damaged),
        Decoded::Newer => Err(LogError::Newer),
    }
}
