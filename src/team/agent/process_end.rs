//! How a process of an agent ended, and what the next one needs to continue.

use super::pending_writes::Unwritten;
use crate::acp::AcpSessionId;
use crate::domain::member::Departure;
use crate::domain::task::TaskError;

pub(crate) struct ProcessEnd {
    pub(crate) departure: Departure,
    pub(crate) detail: Option<String>,
    /// The ACP session that the next process may resume.
    pub(crate) session: Option<AcpSessionId>,
    /// Events that are not on the bus yet.
    pub(crate) unwritten: Unwritten,
    /// The error of the tasks that waited for the process, if it says more than that the process ended.
    pub(crate) error: Option<TaskError>,
}

impl ProcessEnd {
    pub(crate) fn new(departure: Departure, detail: Option<String>) -> Self {
        Self { departure, detail, session: None, unwritten: Unwritten::default(), error: None }
    }
}
