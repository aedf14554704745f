//! Texts beside the log: long bodies, which are durable, and transcripts and the view of members, on which nothing depends.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use uuid::Uuid;

use super::io_failure::failed;
use crate::bus::storage::LogError;
use crate::sys::fs::disk::{self, Disk, RealDisk, Writes};
use crate::sys::random_ids;

/// Stores a long text. When this returns, the text is whole, and survives a power cut.
///
/// An earlier crash leaves at max a temporary file or a text that no event names.
pub(crate) fn put_blob(
    disk: &dyn Disk,
    directory: &Path,
    id: Uuid,
    text: &str,
) -> Result<(), LogError> {
    let path = directory.join(id.to_string());
    let temporary = directory.join(format!(".{}.tmp", random_ids::blob()));
    let write = || -> io::Result<()> {
        let file = disk.create_new(&temporary)?;
        file.append_all(text.as_bytes())?;
        file.sync()?;
        disk.rename(&temporary, &path)?;
        disk.sync_directory(directory)
    };
    write().map_err(|error| {
        // Otherwise it would stay for ever. If this fails too, the file is harmless.
        let _ = disk.unlink(&temporary);
        failed("store a text in", &path, error)
    })
}

/// Reads a long text.
pub(crate) fn read(disk: &dyn Disk, path: &Path) -> Result<String, LogError> {
    as_text(disk.read(path), path)
}

/// The outcome of adding a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    Whole,
    /// The file has reached its limit. A line that says so is there instead.
    Full,
}

/// Adds a line to a transcript, which grows to at max `max` bytes.
pub(crate) fn add_line(path: &Path, line: &str, max: u64) -> Result<Added, LogError> {
    let write = || -> io::Result<Added> {
        let mut file = disk::open_or_create_private(path, Writes::AtTheEnd)?;
        let line = line.trim_end_matches('\n');
        if file.metadata()?.len() + line.len() as u64 <= max {
            file.write_all(format!("{line}\n").as_bytes())?;
            return Ok(Added::Whole);
        }
        let notice =
            format!("the transcript reached its limit of {max} bytes; the rest is not recorded");
        let last = serde_json::json!({ "kind": "full", "told": notice });
        file.write_all(format!("{last}\n").as_bytes())?;
        Ok(Added::Full)
    };
    write().map_err(|error| failed("write to", path, error))
}

/// Reads a file that is not durable.
pub(crate) fn read_view(path: &Path) -> Result<String, LogError> {
    as_text(RealDisk.read(path), path)
}

/// Replaces a file that is not durable. A reader finds the whole old file or the whole new one.
pub(crate) fn put_view(path: &Path, text: &str) -> Result<(), LogError> {
    let temporary = path.with_extension(format!("{}.tmp", random_ids::blob()));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_says_that_it_reached_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("task.jsonl");
        assert_eq!(add_line(&path, "12345678", 20).unwrap(), Added::Whole);
        assert_eq!(add_line(&path, "1234567890\n", 20).unwrap(), Added::Whole);
        assert_eq!(add_line(&path, "1", 20).unwrap(), Added::Full);
        let text = read_view(&path).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[..2], ["12345678", "1234567890"]);
        assert!(lines[2].contains("reached its limit of 20 bytes"), "{text}");
    }
}
