//! The directory of a bus: created, or checked before it is trusted.

use std::io;
use std::path::{Path, PathBuf};

use super::io_failure::failed;
use super::{Networks, bus_json, git_exclude};
use crate::bus::storage::LogError;
use crate::domain::ids::TaskId;
use crate::sys::fs::disk::{
    Disk as _, PrivateDirectory, RealDisk, look_at_directory, make_directory, private_directory,
};
use crate::sys::fs::network_fs;

/// The subdirectories of a bus.
pub(crate) const PARTS: [&str; 6] = [LOG, "snapshot", "presence", "bell", TRANSCRIPTS, "blobs"];

/// The subdirectory of the events.
const LOG: &str = "log";

/// The subdirectory of the transcripts.
pub(crate) const TRANSCRIPTS: &str = "tasks";

/// Returns the name of a task's transcript.
pub(crate) fn transcript_name(task: &TaskId) -> String {
    format!("{task}.jsonl")
}

/// Creates the directory with its parts, or checks an existing one and refuses it with a reason.
pub(crate) fn prepare(directory: &Path, networks: Networks) -> Result<(), LogError> {
    let parent = directory.parent().unwrap_or(directory);
    if networks == Networks::Refused {
        refuse_network(directory)?;
    }
    match make_directory(parent) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(failed("create", parent, error));
        }
        _ => {}
    }
    refuse_link_out(parent)?;
    let mut made = Vec::new();
    ensure(directory, &mut made)?;
    for part in PARTS {
        ensure(&directory.join(part), &mut made)?;
    }
    if !made.is_empty() {
        // From the outside in: an entry is durable only once its parent directory is.
        let project = parent.parent().unwrap_or(parent);
        for changed in [project, parent, directory] {
            RealDisk.sync_directory(changed).map_err(|error| failed("sync", changed, error))?;
        }
    }
    if let Some(project) = parent.parent()
        && let Err(error) = git_exclude::from_git(project, directory)
    {
        tracing::warn!(
            %error,
            "failed to exclude the bus directory from git; add `.claude/bridge/` to `.gitignore`"
        );
    }
    Ok(())
}

/// Refuses the place of a bus, which may have none, if the way to it leads out of the project. Creates nothing.
pub(crate) fn look_at_place(directory: &Path) -> Result<(), LogError> {
    let parent = directory.parent().unwrap_or(directory);
    match parent.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        _ => refuse_link_out(parent),
    }
}

/// Checks whether an existing directory and its parts can be trusted. Creates nothing. A part that is missing is an empty one, as in a copy
/// by a program that copies files alone, such as git; but without its log there is no bus.
pub(crate) fn look_at(directory: &Path) -> Result<(), LogError> {
    let look = |path: &Path| match look_at_directory(path) {
        Err(error) => Err(failed("look at", path, error)),
        Ok(found) => trust(path, found, &mut Vec::new()),
    };
    look(directory)?;
    for part in PARTS {
        match look(&directory.join(part)) {
            Err(error) if part != LOG && is_missing(&error) => {}
            looked => looked?,
        }
    }
    Ok(())
}

fn is_missing(error: &LogError) -> bool {
    matches!(error, LogError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
}

/// Says whether a bus directory holds no more than its empty parts and its lock.
pub(crate) fn is_empty(directory: &Path) -> io::Result<bool> {
    for name in RealDisk.list(directory)? {
        if name == "lock" || name == bus_json::TEMPORARY {
            continue;
        }
        let is_bare =
            PARTS.contains(&name.as_str()) && RealDisk.list(&directory.join(&name))?.is_empty();
        if !is_bare {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Refuses a `.claude` that is a link out of the project: a repository may bring one, and the bus would be created, or another team's read,
/// wherever it leads.
fn refuse_link_out(parent: &Path) -> Result<(), LogError> {
    let Some(project) = parent.parent() else {
        return Ok(());
    };
    let resolved = |path: &Path| {
        let real = path.canonicalize();
        real.map_err(|error| failed("find", path, error))
    };
    if resolved(parent)?.starts_with(resolved(project)?) {
        return Ok(());
    }
    Err(LogError::Refused {
        path: parent.to_owned(),
        reason: "it is a link that leads out of the project: put a real directory in its place"
            .to_owned(),
    })
}

/// Refuses a directory on a network file system, before anything is created in it.
fn refuse_network(directory: &Path) -> Result<(), LogError> {
    let present = directory.ancestors().find(|path| path.is_dir());
    let Some(present) = present else {
        return Ok(());
    };
    match network_fs::of(present) {
        Ok(None) => Ok(()),
        Ok(Some(kind)) => Err(LogError::Refused {
            path: directory.to_owned(),
            reason: format!(
                "it is on a network file system ({kind}), where locks may not hold between \
                 machines and writes may appear late. Use a project on a local disk, or set \
                 `allow_network_file_system = true` under [limits] of the configuration if only \
                 one machine uses it"
            ),
        }),
        Err(error) => {
            tracing::warn!(%error, "failed to find out which file system the bus is on");
            Ok(())
        }
    }
}

fn ensure(path: &Path, made: &mut Vec<PathBuf>) -> Result<(), LogError> {
    let found = private_directory(path).map_err(|error| failed("create", path, error))?;
    trust(path, found, made)
}

fn trust(path: &Path, found: PrivateDirectory, made: &mut Vec<PathBuf>) -> Result<(), LogError> {
    match found {
        PrivateDirectory::Found => Ok(()),
        PrivateDirectory::Made => {
            made.push(path.to_owned());
            Ok(())
        }
        PrivateDirectory::Untrusted(reason) => {
            Err(LogError::Refused { path: path.to_owned(), reason: reason.to_owned() })
        }
    }
}
