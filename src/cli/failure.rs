//! The error type of commands.

/// Why a command failed, for the person at the terminal.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;
