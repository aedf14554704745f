//! Texts beside the log: long bodies, which are durable, and transcripts and the view of members, which are only for reading.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use uuid::Uuid;

use super::failed;
use crate::bus::log::LogError;
use crate::sys::disk::{self, Disk, RealDisk, Writes};
use crate::sys::ids;

/// Stores a long text: it is there whole, and found after a power cut, when this returns.
///
/// A crash before leaves at most a temporary file or a text that no event names.
pub(super) fn put_blob(
    disk: &dyn Disk,
    directory: &Path,
    id: Uuid,
    text: &str,
) -> Result<(), LogError> {
    let path = directory.join(id.to_string());
    let temporary = directory.join(format!(".{}.tmp", ids::blob()));
    let write = || -> io::Result<()> {
        let file = disk.create_new(&temporary)?;
        file.append_all(text.as_bytes())?;
        file.sync()?;
        disk.rename(&temporary, &path)?;
        disk.sync_directory(directory)
    };
    write().map_err(|error| {
        // It would stay for ever otherwise; when it cannot be removed either, it hurts nobody.
        let _ = disk.unlink(&temporary);
        failed("store", &path, error)
    })
}

/// Reads a long text.
pub(super) fn read(disk: &dyn Disk, path: &Path) -> Result<String, LogError> {
    as_text(disk.read(path), path)
}

/// Adds a line to a file that is only for reading.
pub(super) fn add_line(path: &Path, line: &str) -> Result<(), LogError> {
    let write = || -> io::Result<()> {
        let mut file = disk::open_or_create_private(path, Writes::AtTheEnd)?;
        file.write_all(format!("{}\n", line.trim_end_matches('\n')).as_bytes())
    };
    write().map_err(|error| failed("write to", path, error))
}

/// Reads a file that is only for reading.
pub(super) fn read_view(path: &Path) -> Result<String, LogError> {
    as_text(RealDisk.read(path), path)
}

/// Replaces a file that is only for reading, so that a reader finds the old one or the new one whole.
pub(super) fn put_view(path: &Path, text: &str) -> Result<(), LogError> {
    let temporary = path.with_extension(format!("{}.tmp", ids::blob()));
    let write = || -> io::Result<()> {
        disk::create_private(&temporary, Writes::AtTheEnd)?.write_all(text.as_bytes())?;
        fs::rename(&temporary, path)
    };
    write().map_err(|error| {
        // As above.
        let _ = fs::remove_file(&temporary);
        failed("write", path, error)
    })
}

fn as_text(bytes: io::Result<Vec<u8>>, path: &Path) -> Result<String, LogError> {
    match bytes {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(LogError::Gone),
        Err(error) => Err(failed("read", path, error)),
    }
}
