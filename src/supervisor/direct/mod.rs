//! A child without a shim, which ends with its process group.

pub(crate) mod group_leader;
pub(crate) mod watch_child;
