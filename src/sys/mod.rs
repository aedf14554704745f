//! The only doors to the outside: clocks, ids, files, processes, signals.
//!
//! Nothing here knows what the bridge is about; nothing else in the crate talks to the operating system.

pub mod ancestry;
pub mod beneath;
pub mod cgroup;
pub mod bounded_file;
pub mod clock;
pub mod disk;
pub mod ears;
pub mod family;
pub mod forgetting;
pub mod hunt;
pub mod ids;
pub mod inflow;
pub mod lines;
pub mod process;
pub mod resolve;
pub mod sight;
pub mod signals;
pub mod state_directory;
pub mod terminal;
pub mod worktrees;
pub mod lock;
pub mod meter;
pub mod network;
pub mod open_files;
pub mod passing;
pub mod reader;
