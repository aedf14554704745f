//! Reads the bus on a thread of its own, and makes news of it.

mod asking_prompt;
mod follow_bus;
mod read_extras;
mod recent_history;

pub(super) use self::follow_bus::Feed;
