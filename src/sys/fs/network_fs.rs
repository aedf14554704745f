//! Detects network file systems, where locks and notifications do not work as on a local disk, and full ones.

use std::io;
use std::path::Path;

#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
pub use self::linux::of;

/// Finds none: the check of other systems is not implemented.
#[cfg(not(target_os = "linux"))]
pub fn of(_directory: &Path) -> io::Result<Option<String>> {
    Ok(None)
}

/// The room that is left on a file system for this user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoomLeft {
    pub bytes: u64,
    /// How many more files it takes; none if it has no such limit.
    pub files: Option<u64>,
}

/// Returns the room that is left where a directory is.
pub fn room_left(directory: &Path) -> io::Result<RoomLeft> {
    let found = rustix::fs::statvfs(directory)?;
    Ok(RoomLeft {
        bytes: found.f_bavail.saturating_mul(found.f_frsize),
        files: (found.f_files > 0).then_some(found.f_favail),
    })
}
