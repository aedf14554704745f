//! Failures of the operating system as errors of the log.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::bus::storage::LogError;

/// Returns the error for a failed action. A file that cannot be trusted is refused.
pub(super) fn failed(action: &'static str, path: &Path, error: io::Error) -> LogError {
    let path = path.to_owned();
    if error.kind() == io::ErrorKind::InvalidData {
        return LogError::Refused { path, reason: error.to_string() };
    }
    if error.kind() == io::ErrorKind::NotADirectory {
        // A part of the path is a file, and not the last one.
        let is_file = |part: &&Path| part.symlink_metadata().is_ok_and(|found| !found.is_dir());
        let file = path.ancestors().find(is_file).unwrap_or(&path).to_owned();
        return LogError::Refused {
            path: file,
            reason: "it is not a directory: move it away".to_owned(),
        };
    }
    LogError::Io { action, path, source: Arc::new(error) }
}

/// Takes the names in a part of a bus. A part that is missing is an empty one.
pub(super) fn names_in_part(
    path: &Path,
    listed: io::Result<Vec<String>>,
) -> Result<Vec<String>, LogError> {
    match listed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        listed => listed.map_err(|error| failed("list", path, error)),
    }
}
