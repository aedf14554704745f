//! Why the bus did not do something, and what of that a model is told.

use super::log::LogError;
use super::rules::Refusal;

/// Why the bus did not do what it was asked for.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BusError {
    /// The rules say no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The log could not.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The bus is being closed in this process.
    #[error("this process is closing its bus")]
    Closed,
}

impl BusError {
    /// Returns the sentence for a model: without any path.
    pub fn told(&self) -> String {
        match self {
            Self::Log(LogError::Io { action, source, .. }) => {
                format!("the bus failed to {action} its files: {source}")
            }
            Self::Log(LogError::Refused { reason, .. }) => {
                format!("the bus directory is refused: {reason}")
            }
            other => other.to_string(),
        }
    }
}
