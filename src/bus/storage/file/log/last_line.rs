//! What a process remembers of the last line that it read or wrote.

use crate::bus::event::Event;
use crate::bus::storage::LogPosition;

/// How much is kept of the end of the last line: its checksum, and what stands around that.
pub(super) const TAIL_BYTES: usize = 16;

/// The end of the last line that was read or written, and the place behind it: what has to stand before whatever is read next.
pub(crate) struct Tail {
    pub(super) place: LogPosition,
    /// With the checksum, so that no other line is likely to have the same.
    pub(super) bytes: [u8; TAIL_BYTES],
}

impl Tail {
    /// Takes the end of a line without its newline, and the place behind that; none of a line that is shorter than any of ours.
    pub(crate) fn of(line: &[u8], place: LogPosition) -> Option<Self> {
        let bytes = *line.last_chunk()?;
        Some(Self { place, bytes })
    }
}

/// The events of the last line.
pub(crate) struct LastLine {
    pub(super) place: LogPosition,
    /// Its events, each with its index in the line.
    pub(super) events: Vec<(u16, Event)>,
}
