//! The commands of the binary, as a person or a hook runs them.

pub(crate) mod bad_input;
#[cfg(target_os = "linux")]
pub(crate) mod doctor;
pub(crate) mod first_use;
#[cfg(target_os = "linux")]
pub(crate) mod hook;
pub(crate) mod invalid_config;
pub(crate) mod look;
pub(crate) mod manners;
pub(crate) mod peer;
pub(crate) mod run;
pub(crate) mod run_tree;
pub(crate) mod setup;
pub(crate) mod trace;
#[cfg(target_os = "linux")]
pub(crate) mod watch;
