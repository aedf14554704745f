//! Messages that an agent sends by itself: their dispatch, and the requests that wait for an answer.

pub(crate) mod dispatch;
pub(crate) mod drain_request;
pub(crate) mod event_queue;
pub(crate) mod file_request;
pub(crate) mod permission_request;
