//! How agents and bridges end, and that they leave nothing behind.

#[cfg(target_os = "linux")]
pub(crate) mod nothing_left_behind;
pub(crate) mod signals_and_shutdown;
#[cfg(target_os = "linux")]
pub(crate) mod ends_in_time;
