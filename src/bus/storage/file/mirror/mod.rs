//! The mirror of a log whose order a [`Sequencer`] keeps: the same files, with the same lines.
//!
//! The holder of the write lock decides, asks the sequencer, and writes what has its place by then. So the mirror never holds a line that
//! the order does not have, and all mirrors of a team hold the same lines.

mod host_file;
mod mirror_log;
pub(super) mod mirror_parts;

/// The lock of the process that links the host to the others.
pub(super) const HOST_LOCK: &str = "host.lock";

/// The files of a mirror beside those of every bus.
pub(crate) const FILES: [&str; 3] = [host_file::HOST_JSON, host_file::HOST_JSON_LOCK, HOST_LOCK];
