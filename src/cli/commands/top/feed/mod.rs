//! Reads the bus on a thread of its own, and makes news of it.

mod follow_bus;
mod read_extras;

pub(super) use self::follow_bus::Feed;
