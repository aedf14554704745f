//! `bus.json`: the format of a bus, its id, the secret that ties it to the directory where it was created, and that directory.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::io_failure::failed;
use super::origin::directory_identity::SeenDirectory;
use super::{NewOrder, Options};
use crate::bus::storage::format_versions::{BUS_FORMAT, MIRROR_FORMAT, SNAPSHOT_LEVEL};
use crate::bus::storage::{LogError, OrderedBy};
use crate::sys::fs::disk::Disk;
use crate::sys::fs::file_lock::LockFile;
use crate::sys::fs::rights_of_others::WrongRights;
use crate::sys::random_ids;

/// The file that makes a directory a bus.
pub(crate) const BUS_JSON: &str = "bus.json";

/// The longest file that is read: it has a few hundred bytes, and a newer version may add some.
const MOST_BYTES: u64 = 64 * 1024;

/// Its name while it is written.
pub(crate) const TEMPORARY: &str = ".bus.json.tmp";

#[derive(Serialize, Deserialize)]
struct StoredIdentity {
    format: u32,
    /// The least state level of a version that may use this bus, if a newer version wrote one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    least: Option<u32>,
    /// A newer format need not have it in this form.
    #[serde(default)]
    id: Option<Uuid>,
    /// The secret, which its counterpart in the user's state directory repeats (see `bus_origin`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made: Option<Value>,
    /// Who keeps the order, if the bus is a mirror.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order: Option<OrderedBy>,
}

impl StoredIdentity {
    /// Says whether a newer version has written it.
    fn is_newer(&self) -> bool {
        let newest = if self.order.is_some() { MIRROR_FORMAT } else { BUS_FORMAT };
        self.format > newest
    }
}

/// The part of `bus.json` that all formats share.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct BusHeader {
    #[serde(default)]
    pub(crate) id: Option<Uuid>,
    #[serde(default)]
    pub(crate) secret: Option<String>,
    #[serde(default)]
    made: Option<Value>,
    /// Who keeps the order, if the bus is a mirror.
    #[serde(default)]
    pub(crate) order: Option<OrderedBy>,
}

impl BusHeader {
    /// Returns the directory in which the bus got its secret, if `bus.json` names it.
    pub(crate) fn made(&self) -> Option<SeenDirectory> {
        SeenDirectory::deserialize(self.made.as_ref()?).ok()
    }
}

/// Reads the id of a bus, or creates `bus.json` with a new one.
///
/// A crash meanwhile leaves a temporary file, which the next attempt replaces.
pub(crate) fn load_or_create(
    disk: &dyn Disk,
    directory: &Path,
    lock: &LockFile,
    options: &Options,
) -> Result<Uuid, LogError> {
    if let Some(id) = load(disk, directory)? {
        return Ok(id);
    }
    let guard = lock.acquire(options.patience).map_err(|error| failed("lock", directory, error))?;
    let Some(_guard) = guard else {
        return Err(LogError::Busy { holder: lock.queue().holder() });
    };
    if let Some(id) = load(disk, directory)? {
        return Ok(id);
    }
    let id = random_ids::blob();
    let order = match &options.order {
        NewOrder::Server(order) => Some(order.clone()),
        NewOrder::AsRecorded | NewOrder::Files | NewOrder::Chosen { .. } => None,
    };
    write(disk, directory, id, None, order)?;
    Ok(id)
}

/// Writes or replaces `bus.json`. The caller holds the lock.
pub(crate) fn write(
    disk: &dyn Disk,
    directory: &Path,
    id: Uuid,
    secret: Option<(String, &SeenDirectory)>,
    order: Option<OrderedBy>,
) -> Result<(), LogError> {
    let (secret, made) = secret.unzip();
    let identity = StoredIdentity {
        format: if order.is_some() { MIRROR_FORMAT } else { BUS_FORMAT },
        least: None,
        order,
        id: Some(id),
        secret,
        made: made.map(|made| serde_json::to_value(made).expect("a sighting is plain data")),
    };
    let path = directory.join(BUS_JSON);
    replace(disk, directory, &identity).map_err(|error| failed("create", &path, error))
}

/// Raises the format of a bus to this version's, unless it has it already: from then on earlier versions do not open the bus. The id,
/// the secret and the place stay. The caller holds the lock.
///
/// A crash meanwhile leaves the file as it was, or raised.
pub(crate) fn raise(disk: &dyn Disk, directory: &Path) -> Result<(), LogError> {
    let path = directory.join(BUS_JSON);
    let text = read(disk, &path).map_err(|error| failed("read", &path, error))?;
    match serde_json::from_slice::<StoredIdentity>(&text) {
        Ok(identity) if identity.format < BUS_FORMAT => {
            let raised = StoredIdentity { format: BUS_FORMAT, ..identity };
            let replaced = replace(disk, directory, &raised);
            replaced.map_err(|error| failed("raise the format in", &path, error))
        }
        Ok(identity) if identity.is_newer() => Err(LogError::Newer),
        // No version opens a bus whose file is damaged, so the sessions that are here go on.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Makes another the keeper of the order of a bus: a server, or the files themselves. The id, the secret and the place stay. The caller
/// holds the lock.
///
/// A crash meanwhile leaves the file as it was, or changed.
pub(crate) fn change_keeper(
    disk: &dyn Disk,
    directory: &Path,
    order: Option<OrderedBy>,
) -> Result<(), LogError> {
    let path = directory.join(BUS_JSON);
    let text = read(disk, &path).map_err(|error| failed("read", &path, error))?;
    let identity = serde_json::from_slice::<StoredIdentity>(&text).ok();
    let Some(identity) = identity.filter(|identity| !identity.is_newer()) else {
        return Err(LogError::Newer);
    };
    let format = if order.is_some() { MIRROR_FORMAT } else { BUS_FORMAT };
    let changed = StoredIdentity { format, order, ..identity };
    replace(disk, directory, &changed).map_err(|error| failed("change", &path, error))
}

/// Says whether a bus has this version's format. A file that cannot be read says no.
pub(crate) fn is_raised(disk: &dyn Disk, directory: &Path) -> bool {
    kind(disk, directory).is_raised
}

/// What kind of bus it is.
#[derive(Debug, Default)]
pub(crate) struct BusKind {
    /// Whether it has this version's format.
    pub(crate) is_raised: bool,
    /// Who keeps the order, if it is a mirror.
    pub(crate) order: Option<OrderedBy>,
}

/// Returns the kind of a bus. Of a file that cannot be read nothing is known: it is found out elsewhere.
pub(crate) fn kind(disk: &dyn Disk, directory: &Path) -> BusKind {
    let text = read(disk, &directory.join(BUS_JSON)).ok();
    let identity = text.and_then(|text| serde_json::from_slice::<StoredIdentity>(&text).ok());
    let kind =
        |StoredIdentity { format, order, .. }| BusKind { is_raised: format >= BUS_FORMAT, order };
    identity.map(kind).unwrap_or_default()
}

fn replace(disk: &dyn Disk, directory: &Path, identity: &StoredIdentity) -> io::Result<()> {
    let temporary = directory.join(TEMPORARY);
    let mut text = serde_json::to_vec(identity).expect("an identity is plain data");
    text.push(b'\n');
    match disk.unlink(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = disk.create_new(&temporary)?;
    file.append_all(&text)?;
    file.sync()?;
    disk.rename(&temporary, &directory.join(BUS_JSON))?;
    disk.sync_directory(directory)
}

/// Reads the file. A repository may bring a huge one.
fn read(disk: &dyn Disk, path: &Path) -> io::Result<Vec<u8>> {
    if disk.open(path)?.length()? > MOST_BYTES {
        let message = format!("it is longer than {MOST_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    disk.read(path)
}

/// Reads the header of a bus; none without `bus.json`. A file that cannot be understood, or that is no file, yields an empty header:
/// such a bus is foreign. One with the wrong owner or mode is refused, because it may well be this user's, and `chmod` mends it.
pub(crate) fn look(disk: &dyn Disk, directory: &Path) -> Result<Option<BusHeader>, LogError> {
    let path = directory.join(BUS_JSON);
    match read(disk, &path) {
        Ok(text) => Ok(Some(serde_json::from_slice(&text).unwrap_or_default())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error)
            if error.kind() == io::ErrorKind::InvalidData && !WrongRights::is_reason_of(&error) =>
        {
            Ok(Some(BusHeader::default()))
        }
        Err(error) => Err(failed("read", &path, error)),
    }
}

/// Reads the id of a bus, if there is one.
pub(crate) fn load(disk: &dyn Disk, directory: &Path) -> Result<Option<Uuid>, LogError> {
    let path = directory.join(BUS_JSON);
    let text = match read(disk, &path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("read", &path, error)),
    };
    let identity: Option<StoredIdentity> = serde_json::from_slice(&text).ok();
    match identity {
        Some(identity)
            if identity.is_newer()
                || identity.least.is_some_and(|least| least > SNAPSHOT_LEVEL) =>
        {
            Err(LogError::Newer)
        }
        Some(StoredIdentity { id: Some(id), .. }) => Ok(Some(id)),
        _ => Err(LogError::Refused {
            path,
            reason:
                "it is damaged: if the bus is yours, start once with --adopt (`cli-team-bridge orchestrator --adopt < /dev/null`), and do not \
                 remove it; a session without --adopt puts the bus aside"
                    .to_owned(),
        }),
    }
}
