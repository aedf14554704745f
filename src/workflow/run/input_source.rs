//! Where the inputs of steps are read: from the bus of the team that runs them, or from the log, by a window that only looks.

use crate::bus::BusError;
use crate::bus::state::{BodyRef, Task};
use crate::domain::ids::TaskId;
use crate::team::Team;

/// A source of tasks and their texts.
pub trait InputSource: Sync {
    /// Finds a task.
    fn task(&self, id: &TaskId) -> Result<Option<Task>, BusError>;

    /// Reads the text behind a header.
    fn text(&self, body: BodyRef) -> Result<String, BusError>;

    /// Returns the files that an ended task changed, as its result lists them.
    fn files(&self, task: &Task) -> Result<Vec<String>, BusError>;
}

impl InputSource for Team {
    fn task(&self, id: &TaskId) -> Result<Option<Task>, BusError> {
        self.bus().find_task(id)
    }

    fn text(&self, body: BodyRef) -> Result<String, BusError> {
        self.bus().text(body)
    }

    fn files(&self, task: &Task) -> Result<Vec<String>, BusError> {
        self.changed_files(task)
    }
}
