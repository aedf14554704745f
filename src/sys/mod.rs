//! The only doors to the outside: clocks, ids, files, processes, signals.
//!
//! Nothing here knows what the bridge is about; nothing else in the crate talks to the operating system.

pub mod backoff;
pub mod blocking_wait;
pub mod bounded_lines;
pub mod clock;
pub mod closed_pipe;
pub mod fd_passing;
pub mod fs;
pub mod mutex;
pub mod open_file_limit;
pub mod pipe_backlog;
pub mod process;
pub mod random_ids;
pub mod rate_limit;
pub mod signal_streams;
pub mod terminal;
