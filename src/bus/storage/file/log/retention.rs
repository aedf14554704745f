//! Retention: removes the oldest unneeded segments, at most 16 with each snapshot.
//!
//! A segment is unneeded when it ends before the older of the two snapshots and before the oldest text that a member may still read,
//! and all its lines are older than the team's limit. Its long texts and transcripts go first: a crash between the steps leaves a
//! segment that names missing, unneeded texts, and the next snapshot continues. So no text stays without a segment that names it.
//!
//! Age counts by two clocks, the wall clock and the greatest wall time that the log has seen; a wrong clock moves the latter by at
//! most a day in each hour. A line in the future of both was written by a clock that was ahead, and has no age.

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

/// The most segments removed with one snapshot: more than a log grows between two, unless it is much smaller than its state.
const SEGMENTS_AT_ONCE: usize = 16;

/// The most old transcripts without a task in a segment that are removed at once. The next snapshot continues.
const TRANSCRIPTS_AT_ONCE: usize = 256;

/// The directories of a bus.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) log: PathBuf,
    pub(crate) snapshot: PathBuf,
    pub(crate) blobs: PathBuf,
    pub(crate) tasks: PathBuf,
}

/// Returns how long unneeded history is kept, in milliseconds.
pub(crate) fn kept_ms(needed: &StillNeeded) -> i64 {
    i64::from(needed.retention_days) * DAY_MS
}

/// Returns the present segments, oldest first.
pub(crate) fn segments_of(disk: &dyn Disk, parts: &Parts) -> io::Result<Vec<u64>> {
    let names = disk.list(&parts.log)?;
    let mut present: Vec<u64> = names.iter().filter_map(|name| segments::parse(name)).collect();
    present.sort_unstable();
    Ok(present)
}

/// Removes the oldest unneeded segments before the older snapshot's position. Returns their number.
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
        // The next segment began when this one was full, so all its lines are older.
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

/// Removes a segment with its texts and transcripts. Returns false if it must stay: a newer version wrote in it, or one of its lines
/// is young, even if a clock that was behind dated later lines before it.
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

/// Counts a missing file as removed.
pub(crate) fn gone(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns when a segment began: the time of its first readable entry, or of the file if no entry is readable. Entries that were
/// copied from a replaced segment do not count. Returns none if the time is unknown.
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

/// The part of a segment that matters for retention.
#[derive(Default)]
struct Named {
    /// The long texts that its events name.
    texts: BTreeSet<uuid::Uuid>,
    /// The tasks assigned in it.
    tasks: BTreeSet<TaskId>,
    /// The wall times of its lines.
    at_ms: BTreeSet<i64>,
}

/// Collects the texts, tasks and times of a segment; none if a newer version wrote in it.
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

/// Removes transcripts whose last line is older than the retention time, including those of wakes, which belong to no task. After a
/// failure the next snapshot tries again: nothing depends on transcripts.
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
