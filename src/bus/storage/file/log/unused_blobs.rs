//! Long texts that no event names: those of refused commands, and of processes that died before the append.
//!
//! Each process that writes snapshots searches for them once a day. A text is removed when it is older than the team's limit, and at
//! least a day old: no command takes that long from its text to its event. Its name holds its age. The search for names reads the
//! bytes of the log, so that every kind of event counts, even one of a newer version.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicI64, Ordering};

use memchr::memmem;
use uuid::Uuid;

use super::retention::{Parts, gone, segments_of};
use super::segments;
use crate::bus::replica::StillNeeded;
use crate::sys::fs::disk::Disk;

/// The milliseconds of a day: no command takes that long from its text to its event.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// A time before all others.
pub(crate) const NEVER: i64 = i64::MIN;

/// The bytes before the name of a long text in an event.
const BEFORE_NAME: &[u8] = b"\"blob\":{\"id\":\"";

/// The length of a name.
const NAME_BYTES: usize = uuid::fmt::Hyphenated::LENGTH;

/// Says whether it is time to search again. If so, notes the time.
pub(crate) fn is_due(last_ms: &AtomicI64, now_ms: i64) -> bool {
    let last = last_ms.load(Ordering::Relaxed);
    let is_due = last == NEVER || now_ms.saturating_sub(last) >= DAY_MS;
    if is_due {
        last_ms.store(now_ms, Ordering::Relaxed);
    }
    is_due
}

/// Removes old texts that no event names. Returns their number.
pub(crate) fn remove(
    disk: &dyn Disk,
    parts: &Parts,
    needed: &StillNeeded,
    now_ms: i64,
) -> io::Result<usize> {
    let old = find(disk, parts, needed, now_ms)?;
    for name in &old {
        gone(disk.unlink(&parts.blobs.join(name)))?;
    }
    Ok(old.len())
}

/// Finds the files of old texts that no event names.
pub(crate) fn find(
    disk: &dyn Disk,
    parts: &Parts,
    needed: &StillNeeded,
    now_ms: i64,
) -> io::Result<Vec<String>> {
    let before_ms = now_ms.saturating_sub(needed.kept_ms.max(DAY_MS));
    let names = disk.list(&parts.blobs)?.into_iter();
    let mut old: Vec<(Uuid, String)> = names
        .filter_map(|name| Some((id_in(&name)?, name)))
        .filter(|(id, _)| made_ms(*id).is_some_and(|made_ms| made_ms < before_ms))
        .collect();
    for segment in segments_of(disk, parts)? {
        if old.is_empty() {
            break;
        }
        let path = parts.log.join(segments::file_name(segment));
        match disk.read(&path) {
            Ok(bytes) => {
                let in_use = named_in(&bytes);
                old.retain(|(id, _)| !in_use.contains(id));
            }
            // Retention removed the segment, and its texts before it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(old.into_iter().map(|(_, name)| name).collect())
}

/// Parses the id from the name of a text, or of a temporary file that a crash left.
pub(crate) fn id_in(name: &str) -> Option<Uuid> {
    let temporary = name.strip_prefix('.').and_then(|name| name.strip_suffix(".tmp"));
    Uuid::parse_str(temporary.unwrap_or(name)).ok()
}

/// Returns when a text was created.
pub(crate) fn made_ms(id: Uuid) -> Option<i64> {
    let (seconds, nanoseconds) = id.get_timestamp()?.to_unix();
    let seconds = i64::try_from(seconds).ok()?;
    Some(seconds * 1_000 + i64::from(nanoseconds / 1_000_000))
}

fn named_in(segment: &[u8]) -> BTreeSet<Uuid> {
    let mut named = BTreeSet::new();
    let mut rest = segment;
    while let Some(at) = memmem::find(rest, BEFORE_NAME) {
        rest = &rest[at + BEFORE_NAME.len()..];
        let name = rest.get(..NAME_BYTES).map(Uuid::try_parse_ascii);
        named.extend(name.and_then(Result::ok));
    }
    named
}
