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
    LogError::Io { action, path, source: Arc::new(error) }
}
