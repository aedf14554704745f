//! The threads behind a bus handle: syncing, waiting commands, heartbeats, and checks of other members.

pub(crate) mod agents_json;
pub(crate) mod append_in_order;
pub(crate) mod bus_thread;
pub mod heartbeats;
pub(crate) mod link_host;
pub(crate) mod look_at_members;
pub(crate) mod one_boot_at_a_time;
pub(crate) mod wait_for_write_lock;
