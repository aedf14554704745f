//! What a command fails with.

/// Why a command has failed, for the person at the terminal.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;
