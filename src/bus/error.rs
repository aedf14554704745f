//! The errors of the bus, and their wording for models.

use std::path::{Component, Path, PathBuf};

use super::rules::Refusal;
use super::storage::LogError;

use crate::domain::text::shown_path::ShownPath as _;

/// Why the bus did not perform an operation.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BusError {
    /// The rules say no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The log failed.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The bus is being closed in this process.
    #[error("this process is closing its bus")]
    Closed,
}

impl BusError {
    /// Returns the sentence for a model, with no path outside the project.
    pub fn message_for_model(&self) -> String {
        match self {
            Self::Log(LogError::Io { action, source, .. }) => {
                format!("the bus failed to {action} its files: {source}")
            }
            Self::Log(LogError::Refused { path, reason }) => match part_of_bus(path) {
                Some(part) => format!("cannot use `{}`: {reason}", part.shown()),
                None => format!("cannot use the bus directory: {reason}"),
            },
            other => other.to_string(),
        }
    }
}

/// Returns a path within a bus directory as seen from the project; none for that directory itself and for others.
fn part_of_bus(path: &Path) -> Option<PathBuf> {
    const BUS: [&str; 2] = [".claude", "bridge"];
    let components: Vec<_> = path.components().map(Component::as_os_str).collect();
    let begins = components.windows(BUS.len()).rposition(|pair| pair == BUS)?;
    let is_within = components.len() > begins + BUS.len();
    is_within.then(|| components[begins..].iter().collect())
}
