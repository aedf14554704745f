//! Bringing to disk what was appended, apart from the append.

use super::LogError;
use crate::domain::ids::TaskId;

/// The slow part of the log, usable from any thread: it waits for the disk, or reads much of it. One `sync` serves all callers that
/// wait for it.
pub trait Durability: Send + Sync {
    /// Returns when everything that was appended through this log before the call is on disk.
    fn sync(&self) -> Result<(), LogError>;

    /// Does the same, unless it is likely to take longer than waking another thread for it would: then there is no answer.
    fn sync_if_quick(&self) -> Option<Result<(), LogError>>;

    /// Stores a long text durably, before the event that names it.
    fn put_blob(&self, id: uuid::Uuid, text: &str) -> Result<(), LogError>;

    /// Reads the transcript of a task, which may be long.
    fn read_transcript(&self, task: &TaskId) -> Result<String, LogError>;
}
