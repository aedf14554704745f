//! The errors of the bus, and their wording for models.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use super::rules::Refusal;
use super::storage::{LogError, MAKE_ROOM, MOUNT_IT};

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
            Self::Log(LogError::Io { action, path, source }) => {
                let what = match source.kind() {
                    ErrorKind::PermissionDenied
                    | ErrorKind::ReadOnlyFilesystem
                    | ErrorKind::StorageFull
                    | ErrorKind::QuotaExceeded => in_project(path),
                    _ => None,
                };
                let Some(what) = what else {
                    return format!("the bus failed to {action} its files: {source}");
                };
                let helps = match source.kind() {
                    ErrorKind::PermissionDenied => {
                        "; your user needs the right to write to it and to the directory that it is in (`chmod u+rwx`, \
                         or `chown` if another user owns it)"
                    }
                    ErrorKind::ReadOnlyFilesystem => MOUNT_IT,
                    _ => MAKE_ROOM,
                };
                format!("the bus failed to {action} `{}`: {source}{helps}", what.shown())
            }
            Self::Log(LogError::Refused { path, reason }) => match part_of_bus(path) {
                Some(part) => format!("cannot use `{}`: {reason}", part.shown()),
                None => format!("cannot use the bus directory: {reason}"),
            },
            other => other.to_string(),
        }
    }
}

/// Returns a path of the bus, or of the `.claude` that it is in, as seen from the project; none for others.
fn in_project(path: &Path) -> Option<PathBuf> {
    let components: Vec<_> = path.components().map(Component::as_os_str).collect();
    let begins = components.iter().rposition(|part| *part == ".claude")?;
    Some(components[begins..].iter().collect())
}

/// Returns a path within a bus directory as seen from the project; none for that directory itself and for others.
fn part_of_bus(path: &Path) -> Option<PathBuf> {
    const BUS: [&str; 2] = [".claude", "bridge"];
    let components: Vec<_> = path.components().map(Component::as_os_str).collect();
    let begins = components.windows(BUS.len()).rposition(|pair| pair == BUS)?;
    let is_within = components.len() > begins + BUS.len();
    is_within.then(|| components[begins..].iter().collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_right_that_is_missing_is_told_with_the_place_in_the_project_and_what_helps() {
        let says = |path: &str, kind: ErrorKind| {
            let source = Arc::new(kind.into());
            let error = LogError::Io { action: "create", path: path.into(), source };
            BusError::Log(error).message_for_model()
        };
        let denied = says("/home/me/p/.claude", ErrorKind::PermissionDenied);
        assert!(
            denied.starts_with("the bus failed to create `.claude`: permission denied"),
            "{denied}"
        );
        assert!(denied.contains("`chmod u+rwx`") && !denied.contains("/home"), "{denied}");
        let mounted = says("/p/.claude/bridge/log", ErrorKind::ReadOnlyFilesystem);
        assert!(mounted.contains("create `.claude/bridge/log`: "), "{mounted}");
        assert!(mounted.ends_with("mount it so that it can be written to"), "{mounted}");
        let full = says("/p/.claude/bridge/log", ErrorKind::StorageFull);
        assert!(full.starts_with("the bus failed to create `.claude/bridge/log`: "), "{full}");
        assert!(full.contains("its file system is full: free some space on it"), "{full}");
        let other = says("/p/.claude/bridge/log", ErrorKind::Interrupted);
        assert!(other.starts_with("the bus failed to create its files: "), "{other}");
    }
}
