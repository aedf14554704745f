//! A child without a shim: it is ended with its process group.

pub(crate) mod group_leader;
pub(crate) mod watch_child;
