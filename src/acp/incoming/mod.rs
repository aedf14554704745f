//! What an agent sends by itself: where each message goes, and the requests that it waits on.

pub(crate) mod dispatch;
pub(crate) mod drain_request;
pub(crate) mod event_queue;
pub(crate) mod file_request;
pub(crate) mod permission_request;
