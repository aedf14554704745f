//! Appending: decide, lock, decide again if another process was faster, write, unlock. The sync comes later, without the lock.
//!
//! A crash before the write leaves nothing; during the write, an unfinished line, which the next holder of the lock cuts off; after
//! it, a complete entry, even if its writer never learned of it.

use std::path::Path;
use std::sync::Arc;

use super::last_line::Tail;
use super::line_format;
use super::replace_failed_segment::is_young;
use super::segments::{CHUNK_BYTES, Stop};
use crate::bus::event::{Entry, Event};
use crate::bus::storage::file::io_failure::failed;
use crate::bus::storage::file::{FileLog, bus_json};
use crate::bus::storage::{
    Appended, Decide, Log as _, LogError, LogPosition, Proposal, Replica, Verdict,
};
use crate::domain::time::Now;
use crate::sys::fs::disk::DiskFile;
use crate::sys::fs::file_lock::Guard;

/// How often the lock is released because there are too many new entries to read under it. After that they are read under it anyway.
const UNLOCKED_READS: usize = 4;

/// A line that is ready to be written, unless another process appends first.
pub(crate) struct Prepared {
    pub(crate) entry: Entry,
    pub(crate) line: Vec<u8>,
}

/// The outcome of a decision, with the line to append.
enum AppendDecision {
    Append(Prepared),
    Nothing,
    Refused,
}

/// Where a line goes.
struct Target {
    segment: u64,
    file: Arc<dyn DiskFile>,
    offset: u64,
}

/// Why a segment that is open for reading alone takes no line.
const ONLY_READ: &str = "it can only be read: mount its disk so that it can be written to, or give your \
    user the right to write to it (`chmod u+w`)";

impl FileLog {
    pub(crate) fn append_decided(
        &mut self,
        replica: &mut Replica,
        decide: &mut Decide<'_>,
    ) -> Result<Appended, LogError> {
        let mut attempts = 0;
        let (prepared, guard, unfinished) = loop {
            let decision = match self.decide_before_locking(replica, decide)? {
                Some(AppendDecision::Refused) => return Ok(Appended::Refused),
                Some(AppendDecision::Nothing) if self.broken_off(replica).is_none() => {
                    return self.without_append(replica);
                }
                Some(decision) => decision,
                // Only the holder of the lock can read the next line.
                None => return Ok(Appended::Contended),
            };
            self.sync_before_roll(replica)?;
            let Some(guard) = self.try_lock()? else {
                return Ok(Appended::Contended);
            };
            attempts += 1;
            let before = (replica.place, replica.next_seq);
            let limit = if attempts < UNLOCKED_READS { CHUNK_BYTES } else { usize::MAX };
            let mut walked = self.read_locked(replica, limit)?;
            if walked.stop == Stop::Limit {
                // A process that was stopped has much to read, and must not make other writers wait for that.
                drop(guard);
                self.read_new(replica, usize::MAX)?;
                continue;
            }
            if let Some(broken) = self.broken_off(replica) {
                let replaced = self.replace(replica, broken);
                replaced.map_err(|error| error_for(&decision, error))?;
                walked = self.read_locked(replica, usize::MAX)?;
            }
            let decision = if before == (replica.place, replica.next_seq) {
                decision
            } else {
                self.decide(replica, decide)?
            };
            match decision {
                AppendDecision::Append(prepared) => break (prepared, guard, walked.unfinished),
                AppendDecision::Nothing => return self.without_append(replica),
                AppendDecision::Refused => return Ok(Appended::Refused),
            }
        };
        self.write(replica, prepared, guard, unfinished)
    }

    /// Decides on the entries of the segment in use. If there is nothing to append, it looks for a newer segment and decides again; an
    /// append is decided again under the lock anyway. Returns none before a line that only the holder of the lock can read.
    fn decide_before_locking(
        &mut self,
        replica: &mut Replica,
        decide: &mut Decide<'_>,
    ) -> Result<Option<AppendDecision>, LogError> {
        if self.read_segment(replica)?.stop == Stop::Unclear {
            return Ok(None);
        }
        let decision = self.decide(replica, decide)?;
        if matches!(decision, AppendDecision::Append(_)) {
            return Ok(Some(decision));
        }
        let before = (replica.place, replica.next_seq);
        if self.read_new(replica, usize::MAX)?.stop == Stop::Unclear {
            return Ok(None);
        }
        if before == (replica.place, replica.next_seq) {
            return Ok(Some(decision));
        }
        self.decide(replica, decide).map(Some)
    }

    fn decide(
        &self,
        replica: &Replica,
        decide: &mut Decide<'_>,
    ) -> Result<AppendDecision, LogError> {
        let now = self.now();
        match decide(replica, now) {
            Verdict::Refused => Ok(AppendDecision::Refused),
            Verdict::Nothing => Ok(AppendDecision::Nothing),
            Verdict::Append(proposal) => {
                let prepared = prepare(self.next_seq(replica), now, proposal, &self.directory);
                prepared.map(AppendDecision::Append)
            }
        }
    }

    /// Syncs most of a full segment while no process waits for that.
    fn sync_before_roll(&mut self, replica: &Replica) -> Result<(), LogError> {
        let segment = replica.place.segment;
        if segment > 0
            && replica.place.offset >= self.options.segment_bytes
            && let Some(file) = self.segments.file(segment)?
        {
            let path = self.segments.path(segment);
            // The syncer notes a failure, and then the segment is replaced.
            self.syncer.sync_segment(segment, &file, path);
        }
        Ok(())
    }

    pub(crate) fn try_lock(&self) -> Result<Option<Guard>, LogError> {
        self.lock.try_acquire().map_err(|error| failed("lock", &self.directory.join("lock"), error))
    }

    /// Writes a line after everything that was read under the lock.
    fn write(
        &mut self,
        replica: &mut Replica,
        prepared: Prepared,
        guard: Guard,
        unfinished: u64,
    ) -> Result<Appended, LogError> {
        // The segments were listed under the lock, after all lines were read.
        if !self.lock.is_in_place() {
            return Err(LogError::Removed);
        }
        self.raise_for(&prepared.entry)?;
        let target = self.target(replica, prepared.entry.seq, unfinished)?;
        self.write_once(&target, &prepared.line)?;
        drop(guard);

        let path = self.segments.path(target.segment);
        let end = target.offset + prepared.line.len() as u64;
        self.syncer.continues_in(target.segment);
        self.syncer.appended((target.segment, end), &target.file, path);
        let before = replica.next_seq.max(1);
        replica.place = LogPosition { segment: target.segment, offset: target.offset };
        replica.apply(&prepared.entry);
        replica.place.offset = end;
        let line = prepared.line.strip_suffix(b"\n");
        self.tail = line.and_then(|line| Tail::of(line, replica.place));
        self.damaged_end = None;
        self.snapshot_if_due(replica, before, prepared.entry.ts);
        Ok(Appended::Written(prepared.entry))
    }

    /// Writes a line that has its place in the order of a sequencer, for the holder of the lock, and reads it into the replica.
    pub(crate) fn write_sequenced(
        &mut self,
        replica: &mut Replica,
        (entry, line): (&Entry, &[u8]),
        unfinished: u64,
    ) -> Result<(), LogError> {
        if !self.lock.is_in_place() {
            return Err(LogError::Removed);
        }
        self.raise_for(entry)?;
        self.sync_before_roll(replica)?;
        let before = replica.next_seq.max(1);
        let target = self.target(replica, entry.seq, unfinished)?;
        self.write_once(&target, line)?;
        let path = self.segments.path(target.segment);
        let end = target.offset + line.len() as u64;
        self.syncer.continues_in(target.segment);
        self.syncer.appended((target.segment, end), &target.file, path);
        self.read_locked(replica, usize::MAX)?;
        self.snapshot_if_due(replica, before, entry.ts);
        Ok(())
    }

    /// Writes a snapshot if the append of the events from `before` on made one due.
    fn snapshot_if_due(&mut self, replica: &Replica, before: u64, wall_ms: i64) {
        let step = self.options.snapshot_events;
        if before / step != replica.next_seq / step
            && !replica.skipped_events
            && (self.is_raised || replica.state.last_number().is_some())
            && self.has_grown(replica.place)
        {
            let now_ms = replica.state.seen_ms(wall_ms);
            let clean_up = self.clean_up.clone();
            let afterwards = move |written: &Replica| clean_up.run(&written.still_needed(), now_ms);
            self.snapshots.write(replica, &self.syncer, afterwards);
        }
    }

    /// Raises the format of the bus before the first line that begins a session in this version's way.
    fn raise_for(&mut self, entry: &Entry) -> Result<(), LogError> {
        let begins = |event: &Event| matches!(event, Event::MemberDescribed(_));
        if !self.is_raised && entry.events.iter().any(begins) {
            bus_json::raise(&*self.disk, &self.directory)?;
            self.is_raised = true;
        }
        Ok(())
    }

    /// Says whether the log has grown enough since the last snapshot to write another one.
    fn has_grown(&self, place: LogPosition) -> bool {
        let percent = self.options.snapshot_percent;
        self.snapshots.is_due(percent, |from| self.segments.bytes_between(from, place))
    }

    /// Writes the line with one call. After a failure, the segment holds no part of it.
    fn write_once(&mut self, target: &Target, line: &[u8]) -> Result<(), LogError> {
        let error = match target.file.append(line) {
            Ok(written) if written == line.len() => return Ok(()),
            Ok(_) => std::io::ErrorKind::StorageFull.into(),
            // The file may only be read, so nothing of the line is there.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                let why = std::io::Error::new(error.kind(), ONLY_READ);
                return Err(failed("write to", &self.segments.path(target.segment), why));
            }
            Err(error) => error,
        };
        if let Err(error) = target.file.truncate(target.offset) {
            // The next holder of the lock removes it.
            tracing::warn!(%error, "failed to remove an unfinished line from the log");
        }
        Err(failed("write to", &self.segments.path(target.segment), error))
    }

    /// Finds or creates the segment to write to, and removes an unfinished line from its end.
    fn target(&mut self, replica: &Replica, seq: u64, unfinished: u64) -> Result<Target, LogError> {
        let LogPosition { segment, offset } = replica.place;
        if segment == 0 {
            return self.new_segment(seq);
        }
        let file = self.segments.file(segment)?.ok_or(LogError::Removed)?;
        let path = self.segments.path(segment);
        if unfinished > 0 {
            file.truncate(offset)
                .map_err(|error| failed("remove an unfinished line from", &path, error))?;
        }
        if offset >= self.options.segment_bytes {
            if self.syncer.sync_segment(segment, &file, path.clone()) {
                return self.new_segment(seq);
            }
            // The next writer replaces it.
            let error = std::io::Error::other("the segment could not be synced to disk");
            return Err(failed("sync", &path, error));
        }
        if is_young(replica) {
            self.segments.sync_directory()?;
        }
        Ok(Target { segment, file, offset })
    }

    fn new_segment(&mut self, seq: u64) -> Result<Target, LogError> {
        let file = self.segments.create(seq)?;
        Ok(Target { segment: seq, file, offset: 0 })
    }

    /// Ends a command that has nothing to append. It is acknowledged as soon as this process has synced.
    fn without_append(&mut self, replica: &Replica) -> Result<Appended, LogError> {
        self.rely_on(replica)?;
        Ok(Appended::Nothing)
    }
}

/// Returns the error of a command after a failed replacement of a segment: one that was already done may not be on disk.
fn error_for(decision: &AppendDecision, error: LogError) -> LogError {
    match (decision, error) {
        (AppendDecision::Nothing, LogError::Io { source, .. }) => {
            LogError::OutcomeUnknown { source }
        }
        (_, error) => error,
    }
}

pub(crate) fn prepare(
    seq: u64,
    now: Now,
    proposal: Proposal,
    directory: &Path,
) -> Result<Prepared, LogError> {
    if !line_format::has_room(seq, proposal.events.len()) {
        let reason = format!(
            "its log has no numbers left after {seq}, so another program has written into it: stop \
                the team and remove what it wrote"
        );
        return Err(LogError::Refused { path: directory.join("log"), reason });
    }
    let entry = Entry {
        seq,
        ts: now.wall_ms,
        tick: now.tick,
        id: proposal.id,
        by: proposal.by,
        events: proposal.events,
    };
    let line = line_format::encode(&entry);
    if line.len() > line_format::MAX_LINE_BYTES {
        return Err(LogError::TooLong { bytes: line.len(), limit: line_format::MAX_LINE_BYTES });
    }
    Ok(Prepared { entry, line })
}
