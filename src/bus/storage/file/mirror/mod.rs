//! The mirror of a log whose order a [`Sequencer`] keeps: the same files, with the same lines.
//!
//! The holder of the write lock decides, asks the sequencer, and writes what has its place by then. So the mirror never holds a line that
//! the order does not have, and all mirrors of a team hold the same lines.

pub(super) mod host_beat;
mod host_file;
pub(crate) mod mirror_files;
pub(super) mod mirror_log;
pub(super) mod mirror_parts;

pub(super) use self::host_file::machine_name;
