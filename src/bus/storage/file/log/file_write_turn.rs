//! The turn to write to the files of one bus: the queue at its lock.

use std::path::{Path, PathBuf};

use crate::bus::storage::file::io_failure::failed;
use crate::bus::storage::{LogError, WriteTurn};
use crate::sys::fs::file_lock::{LockFile, Queue};

/// The turn to write to the files of one bus.
pub(crate) struct FileWriteTurn {
    queue: Queue,
    path: PathBuf,
}

impl FileWriteTurn {
    pub(crate) fn of(lock: &LockFile, directory: &Path) -> Self {
        Self { queue: lock.queue(), path: directory.join("lock") }
    }
}

impl WriteTurn for FileWriteTurn {
    fn wait(&self) -> Result<(), LogError> {
        let granted = self.queue.wait();
        granted.map_err(|error| failed("lock", &self.path, error))
    }

    fn release(&self) {
        self.queue.release();
    }

    fn holder(&self) -> String {
        self.queue.holder()
    }
}
