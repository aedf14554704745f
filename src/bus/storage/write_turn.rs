//! Waiting for the turn to write, apart from the append that uses it.

use super::LogError;

/// The turn to write, usable from any thread: for a caller that may wait while another process writes.
pub trait WriteTurn: Send + Sync {
    /// Returns when it is this process's turn. The next append uses the turn.
    fn wait(&self) -> Result<(), LogError>;

    /// Releases a turn that no append has used.
    fn release(&self);

    /// Names the writing process, for callers whose wait was in vain.
    fn holder(&self) -> String;
}
