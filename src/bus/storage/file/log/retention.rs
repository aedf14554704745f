//! Retention: the oldest segments go when they are no longer needed, at most 16 with each snapshot.
//!
//! One goes when it ends before the older of the two snapshots, before the oldest text that a member may still have to read, and
//! when all in it is older than the team's limit. Its long texts and transcripts go before it: a crash between the steps leaves a
//! segment that names texts which are gone and no longer needed, and the next snapshot goes on. So nothing is left that no
//! segment names.
//!
//! Age is what both clocks say, the wall clock and the greatest wall time that the log has seen, which no wrong clock moves by more
//! than a day in each hour. A line from the future of both was written by a clock that was ahead, and tells no age.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use super::line_format::{self, Decoded};
use super::segments;
use crate::bus::event::{Body, Event};
use crate::bus::replica::StillNeeded;
use crate::bus::storage::LogPosition;
use crate::domain::ids::TaskId;
use crate::sys::fs::disk::{self, Disk};

pub(crate) const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Segments that go with one snapshot: more than a log grows from one to the next, unless it is much smaller than its state.
const SEGMENTS_AT_ONCE: usize = 16;

/// Old transcripts that belong to no task of a segment and are removed at once; the next snapshot goes on.
const TRANSCRIPTS_AT_ONCE: usize = 256;

/// Where the parts of a bus are.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) log: PathBuf,
    pub(crate) snapshot: PathBuf,
    pub(crate) blobs: PathBuf,
    pub(crate) tasks: PathBuf,
}

/// Returns how long history is kept that nothing needs, in milliseconds.
pub(crate) fn kept_ms(needed: &StillNeeded) -> i64 {
    i64::from(needed.retention_days) * DAY_MS
}

/// Returns the segments that are there, oldest first.
pub(crate) fn segments_of(disk: &dyn Disk, parts: &Parts) -> io::Result<Vec<u64>> {
    let names = disk.list(&parts.log)?;
    let mut present: Vec<u64> = names.iter().filter_map(|name| segments::parse(name)).collect();
    present.sort_unstable();
    Ok(present)
}

/// Removes the oldest segments that nothing needs, all of them before the place of the older snapshot; returns how many went.
pub(crate) fn remove_segments(
    disk: &dyn Disk,
    parts: &Parts,
    needed: &StillNeeded,
    older_snapshot: LogPosition,
    now_ms: i64,
) -> io::Result<usize> {
    let since_ms = now_ms.saturating_sub(kept_ms(needed));
    let is_needed = |segment: u64| {
        let kept_from = [Some(older_snapshot), needed.oldest_text];
        kept_from.iter().flatten().any(|place| place.segment <= segment)
    };
    let present = segments_of(disk, parts)?;
    let path = |segment: u64| parts.log.join(segments::file_name(segment));
    let mut removed = 0;
    for two in present.windows(2).take(SEGMENTS_AT_ONCE) {
        // The next segment began when this one was full: all in it is older than that.
        let is_old = |began_ms: i64| began_ms < since_ms;
        if is_needed(two[0])
            || !began_ms(disk, parts, two[1], now_ms)?.is_some_and(is_old)
            || !remove(disk, parts, needed, &path(two[0]), since_ms..=now_ms)?
        {
            break;
        }
        removed += 1;
    }
    Ok(removed)
}

/// Removes a segment with what it names; says whether that may be done. Of what a newer version wrote nothing can be said, and what
/// has a young line is young, whatever a clock that was behind has written behind it.
fn remove(
    disk: &dyn Disk,
    parts: &Parts,
    needed: &StillNeeded,
    segment: &Path,
    young_ms: RangeInclusive<i64>,
) -> io::Result<bool> {
    let bytes = match disk.read(segment) {
        Ok(bytes) => bytes,
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    let Some(Named { texts, tasks, at_ms }) = named_in(&bytes) else {
        return Ok(false);
    };
    if at_ms.range(young_ms).next().is_some() {
        return Ok(false);
    }
    for text in texts {
        gone(disk.unlink(&parts.blobs.join(text.to_string())))?;
    }
    for task in tasks.iter().filter(|task| !needed.open_tasks.contains(*task)) {
        gone(fs::remove_file(parts.tasks.join(format!("{task}.jsonl"))))?;
    }
    gone(disk.unlink(&segments::mark(segment)))?;
    gone(disk.unlink(segment))?;
    disk.sync_directory(&parts.log)?;
    Ok(true)
}

/// Counts a file that is gone already as removed.
pub(crate) fn gone(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns when a segment began, none when that cannot be told: when the first entry of its own was written that can be read, or, where
/// none can, when the file was. Entries before its own are copies, of a segment that it has replaced.
fn began_ms(disk: &dyn Disk, parts: &Parts, segment: u64, now_ms: i64) -> io::Result<Option<i64>> {
    let path = parts.log.join(segments::file_name(segment));
    let bytes = match disk.read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    for line in bytes.split(|byte| *byte == b'\n') {
        match line_format::decode(line) {
            Decoded::Entry { entry, .. } if entry.seq >= segment && entry.ts <= now_ms => {
                return Ok(Some(entry.ts));
            }
            Decoded::Entry { .. } | Decoded::Damaged => {}
            Decoded::Newer => return Ok(None),
        }
    }
    if !bytes.contains(&b'\n') {
        return Ok(None);
    }
    let touched_ns = disk::touched_ns(&path).ok();
    Ok(touched_ns.and_then(|ns| i64::try_from(ns / 1_000_000).ok()))
}

/// The contents of a segment that retention looks at.
#[derive(Default)]
struct Named {
    /// The long texts that its events name.
    texts: BTreeSet<uuid::Uuid>,
    /// The tasks that are assigned in it.
    tasks: BTreeSet<TaskId>,
    /// The wall times of its lines.
    at_ms: BTreeSet<i64>,
}

/// Returns what the events of a segment name; nothing when it has a line of a newer version.
fn named_in(segment: &[u8]) -> Option<Named> {
    let mut named = Named::default();
    for line in segment.split(|byte| *byte == b'\n') {
        let entry = match line_format::decode(line) {
            Decoded::Entry { entry, .. } => entry,
            Decoded::Damaged => continue,
            Decoded::Newer => return None,
        };
        named.at_ms.insert(entry.ts);
        for event in &entry.events {
            if let Event::TaskAssigned(assigned) = event {
                named.tasks.insert(assigned.id.clone());
            }
            for body in event.bodies() {
                if let Body::Blob { id, .. } = body {
                    named.texts.insert(*id);
                }
            }
        }
    }
    Some(named)
}

/// Removes transcripts that have not been written to for as long as history is kept, those of wakes too, which belong to no task.
/// They are for reading only: the next snapshot tries again what fails.
pub(crate) fn remove_transcripts(parts: &Parts, needed: &StillNeeded, now_ms: i64) {
    let since_ms = now_ms.saturating_sub(kept_ms(needed));
    let Ok(entries) = fs::read_dir(&parts.tasks) else {
        return;
    };
    let is_old = |path: &Path| {
        let touched_ns = disk::touched_ns(path);
        touched_ns.is_ok_and(|touched_ns| touched_ns / 1_000_000 < i128::from(since_ms))
    };
    let old = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        let task = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
        let task = task.and_then(|task| TaskId::parse(task).ok());
        task.is_some_and(|task| !needed.open_tasks.contains(&task)) && is_old(&entry.path())
    });
    for entry in old.take(TRANSCRIPTS_AT_ONCE) {
        if let Err(error) = gone(fs::remove_file(entry.path())) {
            tracing::debug!(%error, "failed to remove an old transcript");
        }
    }
}
