//! Waiting for the turn to write, apart from the append that uses it.

use super::LogError;

/// The turn to write, usable from any thread: for a caller that may wait as long as another process writes.
pub trait WriteTurn: Send + Sync {
    /// Returns when it is this process's turn: the next append has it.
    fn wait(&self) -> Result<(), LogError>;

    /// Releases a turn that no append has used.
    fn release(&self);

    /// Names the process that writes, for callers that have waited in vain.
    fn holder(&self) -> String;
}
