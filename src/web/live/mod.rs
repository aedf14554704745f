//! The changes of a page as they happen: server-sent events, whose id is the seq of the last event that they show, so that a broken
//! connection loses nothing.

mod live_changes;
mod live_stream;

pub(super) use self::live_stream::live;
