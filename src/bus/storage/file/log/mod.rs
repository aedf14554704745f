//! The log itself: segments of lines, read and appended to by several processes, with snapshots of the state beside them.

pub(super) mod append;
pub(super) mod clean_up;
pub(super) mod file_write_turn;
pub(super) mod follower;
pub(super) mod last_line;
pub mod line_format;
pub(super) mod read_log;
pub(super) mod replace_failed_segment;
pub(super) mod retention;
pub(super) mod segments;
pub(super) mod snapshot;
pub(super) mod sync;
pub(super) mod unused_blobs;
