//! The mark that all processes of an agent carry in their environment (`BRIDGE_RUN`). It identifies leftover processes after the
//! bridge that started them has died.

use std::path::Path;

use crate::domain::ids::SessionId;
use crate::sys::fs::disk::{self, Disk as _, RealDisk};

/// Returns the mark of an agent's processes. It names the bus directory too, so that a copy of the log matches none of them.
pub fn run_mark(bus_dir: &Path, session: SessionId) -> String {
    match place_of(bus_dir) {
        Some(place) => format!("{session}@{place}"),
        None => session.to_string(),
    }
}

/// Identifies a bus directory by its device and inode; `None` if it does not exist.
pub(super) fn place_of(bus_dir: &Path) -> Option<String> {
    let disk::FileIdentity { device, inode } = RealDisk.identity(bus_dir).ok()?;
    Some(format!("{device}:{inode}"))
}
