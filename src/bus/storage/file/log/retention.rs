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
use std::path::{Path, PathBuf};

use super::line_format::{self, Decoded};
use super::segments;
use crate::bus::event::{Body, Event};
use crate::bus::replica::StillNeeded;
use crate::bus::storage::LogPosition;
use crate::domain::ids::TaskId;
use crate::sys::fs::disk::{self, Disk};

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
    let present = segments_of(disk, parts)?;
    let mut removed = 0;
    for two in present.windows(2).take(SEGMENTS_AT_ONCE) {
        let age = Age { older_snapshot, now_ms };
        match segment_fate(disk, parts, needed, age, (two[0], two[1]))? {
            SegmentFate::Stays => break,
            SegmentFate::Goes(going) => remove(disk, parts, &going)?,
            SegmentFate::Gone => {}
        }
        removed += 1;
    }
    Ok(removed)
}

/// What decides the age of a segment.
#[derive(Clone, Copy)]
pub(crate) struct Age {
    /// The position of the older of the two snapshots.
    pub(crate) older_snapshot: LogPosition,
    /// The wall time as the log has seen it.
    pub(crate) now_ms: i64,
}

/// What becomes of a segment.
pub(crate) enum SegmentFate {
    /// It is still needed, or a newer version wrote in it, or one of its lines is young, even if a clock that was behind dated later
    /// lines before it.
    Stays,
    /// It may be removed with these files.
    Goes(Going),
    /// Another process was faster.
    Gone,
}

/// A segment that may be removed, with its texts and transcripts.
pub(crate) struct Going {
    pub(crate) segment: PathBuf,
    /// In the order in which they have to be removed, the segment last.
    pub(crate) files: Vec<PathBuf>,
}

/// Decides about a segment, given with the one after it.
pub(crate) fn segment_fate(
    disk: &dyn Disk,
    parts: &Parts,
    needed: &StillNeeded,
    Age { older_snapshot, now_ms }: Age,
    (segment, next): (u64, u64),
) -> io::Result<SegmentFate> {
    let since_ms = now_ms.saturating_sub(needed.kept_ms);
    let kept_from = [Some(older_snapshot), needed.oldest_text];
    let is_needed = kept_from.iter().flatten().any(|place| place.segment <= segment);
    // The next segment began when this one was full, so all its lines are older.
    let is_old = |began_ms: i64| began_ms < since_ms;
    if is_needed || !began_ms(disk, parts, next, now_ms)?.is_some_and(is_old) {
        return Ok(SegmentFate::Stays);
    }
    let path = parts.log.join(segments::file_name(segment));
    let bytes = match disk.read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(SegmentFate::Gone),
        Err(error) => return Err(error),
    };
    let Some(Named { texts, tasks, at_ms }) = named_in(&bytes) else {
        return Ok(SegmentFate::Stays);
    };
    if at_ms.range(since_ms..=now_ms).next().is_some() {
        return Ok(SegmentFate::Stays);
    }
    let texts = texts.iter().map(|text| parts.blobs.join(text.to_string()));
    let ended = tasks.iter().filter(|task| !needed.open_tasks.contains(*task));
    let transcripts = ended.map(|task| parts.tasks.join(format!("{task}.jsonl")));
    let last = [segments::mark(&path), path.clone()];
    let files = texts.chain(transcripts).chain(last).collect();
    Ok(SegmentFate::Goes(Going { segment: path, files }))
}

/// Removes a segment with its texts and transcripts.
pub(crate) fn remove(disk: &dyn Disk, parts: &Parts, going: &Going) -> io::Result<()> {
    for file in &going.files {
        if file.starts_with(&parts.tasks) {
            gone(fs::remove_file(file))?;
        } else {
            gone(disk.unlink(file))?;
        }
    }
    disk.sync_directory(&parts.log)
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
    for path in old_transcripts(parts, needed, now_ms).take(TRANSCRIPTS_AT_ONCE) {
        if let Err(error) = gone(fs::remove_file(path)) {
            tracing::debug!(%error, "failed to remove an old transcript");
        }
    }
}

/// Finds such transcripts.
pub(crate) fn old_transcripts<'a>(
    parts: &'a Parts,
    needed: &'a StillNeeded,
    now_ms: i64,
) -> impl Iterator<Item = PathBuf> + 'a {
    let since_ms = now_ms.saturating_sub(needed.kept_ms);
    let is_old = move |path: &Path| {
        let touched_ns = disk::touched_ns(path);
        touched_ns.is_ok_and(|touched_ns| touched_ns / 1_000_000 < i128::from(since_ms))
    };
    let entries = fs::read_dir(&parts.tasks).into_iter().flatten().flatten();
    entries.filter_map(move |entry| {
        let name = entry.file_name();
        let task = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
        let task = task.and_then(|task| TaskId::parse(task).ok())?;
        let path = entry.path();
        (!needed.open_tasks.contains(&task) && is_old(&path)).then_some(path)
    })
}
