//! The walk over all lines of a log as they stand on disk, from the oldest segment to the end, without a state and without the lock.
//!
//! Another process may be writing, and retention may remove segments meanwhile. A line that cannot be read is read once more before it
//! counts as damaged, because it may just have been under repair.

use std::path::Path;

use crate::bus::event::LogPosition;
use crate::bus::storage::LogError;
use crate::bus::storage::file::log::line_format::{self, MAX_LINE_BYTES};
use crate::bus::storage::file::log::segments::{Next, RawLine, Scope, Segments, Stop, WalkEnd};
use crate::sys::fs::disk::Disk;

/// A part of the log as it stands on disk.
pub(in crate::bus::storage::file) enum HistoryLine<'a> {
    /// A line whose checksum fits, without its newline.
    Whole(&'a [u8]),
    /// This many bytes that are no line.
    Damaged(u64),
    /// This many bytes of a line without an end, at the end of the log: it is being written, or its writer died.
    Unfinished(u64),
    /// The segment was removed before it was read.
    Removed,
}

/// Called with each part of the log and its position.
pub(in crate::bus::storage::file) type OnHistory<'a> =
    dyn FnMut(LogPosition, HistoryLine<'_>) -> Result<(), LogError> + 'a;

/// Walks over the whole log.
pub(in crate::bus::storage::file) fn walk(
    segments: &mut Segments,
    take: &mut OnHistory<'_>,
) -> Result<(), LogError> {
    segments.refresh()?;
    let Some(mut segment) = segments.oldest() else {
        return Ok(());
    };
    loop {
        let begin = LogPosition { segment, offset: 0 };
        let mut walked = walk_on(segments, begin, take)?;
        segments.refresh()?;
        let next = segments.next(segment);
        if walked.stop == Stop::Gone {
            take(walked.place, HistoryLine::Removed)?;
        } else if next.is_some() {
            // The creator of the next segment had finished this one, perhaps after this read.
            walked = walk_on(segments, walked.place, take)?;
            if walked.unfinished > 0 {
                take(walked.place, HistoryLine::Damaged(walked.unfinished))?;
            }
        } else if walked.unfinished > 0 {
            take(walked.place, HistoryLine::Unfinished(walked.unfinished))?;
        }
        match next {
            Some(next) => segment = next,
            None => return Ok(()),
        }
    }
}

fn walk_on(
    segments: &mut Segments,
    from: LogPosition,
    take: &mut OnHistory<'_>,
) -> Result<WalkEnd, LogError> {
    let (disk, path) = (std::sync::Arc::clone(&segments.disk), segments.path(from.segment));
    segments.walk(from, usize::MAX, Scope::Segment, &mut |place, next, line| {
        let bytes = next.offset - place.offset;
        match line {
            RawLine::Whole(line) if line_format::checked(line).is_some() => {
                take(place, HistoryLine::Whole(line))?;
            }
            _ => match read_again(&*disk, &path, place.offset, bytes) {
                Some(line) => take(place, HistoryLine::Whole(&line))?,
                None => take(place, HistoryLine::Damaged(bytes))?,
            },
        }
        Ok(Next::On)
    })
}

/// Reads a line once more; none if it still cannot be read.
pub(super) fn read_again(disk: &dyn Disk, path: &Path, offset: u64, bytes: u64) -> Option<Vec<u8>> {
    let bytes = usize::try_from(bytes).ok().filter(|bytes| *bytes <= MAX_LINE_BYTES)?;
    let mut line = vec![0; bytes];
    let read = disk.open(path).ok()?.read_at(&mut line, offset).ok()?;
    let is_whole = read == bytes && line.pop() == Some(b'\n');
    (is_whole && line_format::checked(&line).is_some()).then_some(line)
}
