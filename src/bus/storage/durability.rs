//! Syncing appended entries, apart from the append.

use super::LogError;
use crate::domain::ids::TaskId;

/// The slow part of the log, usable from any thread: it waits for the disk or reads much from it. One `sync` serves all waiting
/// callers.
pub trait Durability: Send + Sync {
    /// Returns when all entries that were appended through this log before the call are on disk.
    fn sync(&self) -> Result<(), LogError>;

    /// Syncs likewise, or returns none if that is likely to take longer than waking another thread.
    fn sync_if_quick(&self) -> Option<Result<(), LogError>>;

    /// Stores a long text durably, before the event that names it.
    fn put_blob(&self, id: uuid::Uuid, text: &str) -> Result<(), LogError>;

    /// Reads the transcript of a task, which may be long.
    fn read_transcript(&self, task: &TaskId) -> Result<String, LogError>;
}
