//! What a command has done: the events that its caller learns of.

use crate::bus::event::Event;

/// What a command has done.
#[derive(Clone, Debug, Default)]
pub struct Receipt {
    /// The events, in their order; those that were merely due come first.
    pub events: Vec<Event>,
}

impl Receipt {
    /// Says whether all of it merely marks progress, which needs no sync of its own.
    pub(crate) fn is_progress(&self) -> bool {
        // One without events may repeat a command whose line is not on disk yet.
        !self.events.is_empty() && self.events.iter().all(Event::is_progress)
    }
}
