//! The last line that a process read or wrote, as it remembers it.

use crate::bus::event::Event;
use crate::bus::storage::LogPosition;

/// The length of the remembered end of the last line: its checksum, and the characters around that.
pub(super) const TAIL_BYTES: usize = 16;

/// The end of the last line that was read or written. These bytes have to precede the next line.
pub(crate) struct Tail {
    /// The position after the line.
    pub(super) place: LogPosition,
    /// These include the checksum, so that another line is unlikely to end the same.
    pub(super) bytes: [u8; TAIL_BYTES],
}

impl Tail {
    /// Remembers the end of a line, given without its newline, and the position after it. Returns none for a line too short to be ours.
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
