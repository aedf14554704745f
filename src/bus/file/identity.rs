//! `bus.json`: the format of a bus and its id.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{failed, snapshot};
use crate::bus::log::LogError;
use crate::sys::disk::Disk;
use crate::sys::ids;
use crate::sys::lock::LockFile;

/// The format that this version writes; it reads all up to this one.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Identity {
    format: u32,
    /// The least level of the state that may work here, where a newer version says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    least: Option<u32>,
    /// A newer format need not have it in this form.
    #[serde(default)]
    id: Option<Uuid>,
}

/// Reads the id of a bus, or gives it one.
///
/// A crash while it is made leaves a temporary file, which the next one replaces.
pub(super) fn load_or_create(
    disk: &dyn Disk,
    directory: &Path,
    lock: &LockFile,
    patience: Duration,
) -> Result<Uuid, LogError> {
    if let Some(id) = load(disk, directory)? {
        return Ok(id);
    }
    let path = directory.join("bus.json");
    let guard = lock
        .acquire(patience)
        .map_err(|error| failed("lock", directory, error))?;
    let Some(_guard) = guard else {
        return Err(LogError::Busy {
            holder: lock.queue().holder(),
        });
    };
    if let Some(id) = load(disk, directory)? {
        return Ok(id);
    }
    let id = ids::blob();
    let temporary = directory.join(".bus.json.tmp");
    let identity = Identity {
        format: FORMAT,
        least: None,
        id: Some(id),
    };
    let mut text = serde_json::to_vec(&identity).expect("an identity is plain data");
    text.push(b'\n');
    let write = || -> io::Result<()> {
        match disk.unlink(&temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = disk.create_new(&temporary)?;
        file.append_all(&text)?;
        file.sync()?;
        disk.rename_new(&temporary, &path)?;
        disk.sync_directory(directory)
    };
    write().map_err(|error| failed("create", &path, error))?;
    Ok(id)
}

/// Reads the id of a bus, if there is one.
pub(super) fn load(disk: &dyn Disk, directory: &Path) -> Result<Option<Uuid>, LogError> {
    let path = directory.join("bus.json");
    let text = match disk.read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("read", &path, error)),
    };
    let identity: Option<Identity> = serde_json::from_slice(&text).ok();
    match identity {
        Some(Identity { format, least, .. })
            if format > FORMAT || least.is_some_and(|least| least > snapshot::LEVEL) =>
        {
            Err(LogError::Newer)
        }
        Some(Identity { id: Some(id), .. }) => Ok(Some(id)),
        _ => Err(LogError::Refused {
            path,
            reason: "it is damaged: remove this file, and a new one is made".to_owned(),
        }),
    }
}
