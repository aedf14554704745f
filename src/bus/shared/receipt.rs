//! The receipt of a command: its events.

use crate::bus::event::Event;

/// The receipt of a command.
#[derive(Clone, Debug, Default)]
pub struct Receipt {
    /// The events in order. Due events come first.
    pub events: Vec<Event>,
}

impl Receipt {
    /// Says whether all events merely mark progress, which needs no sync of its own.
    pub(crate) fn is_progress(&self) -> bool {
        // A receipt without events may be that of a repeated command whose line is not on disk yet.
        !self.events.is_empty() && self.events.iter().all(Event::is_progress)
    }
}
