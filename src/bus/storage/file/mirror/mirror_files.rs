//! The files that a mirror has beside those of every bus.

/// Which host the mirror is.
pub(super) const HOST_JSON: &str = "host.json";

/// Its lock: the opening of a bus may come while a line gets its place, under the lock of the bus.
pub(super) const HOST_JSON_LOCK: &str = "host.json.lock";

/// The lock of the process that links the host to the others. It holds the time of the last beat.
pub(in crate::bus::storage::file) const HOST_LOCK: &str = "host.lock";

pub(crate) const FILES: [&str; 3] = [HOST_JSON, HOST_JSON_LOCK, HOST_LOCK];
