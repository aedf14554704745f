//! Opens a bus for programs that only read it, and tells a missing bus from a foreign one.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::io_failure::failed;
use super::origin::bus_origin;
use super::{FileLog, Foreign, Networks, Options, Origin, Proof, bus_directory, bus_json};
use crate::bus::storage::LogError;
use crate::sys::fs::disk::{Disk, RealDisk};

/// What is in the directory of a bus.
pub(crate) enum Opened {
    /// No bus yet: the next session that leads or joins creates it.
    Absent,
    /// A bus that was not created here, so it is not read.
    Foreign,
    Log(Box<FileLog>),
}

/// Opens the bus in a directory without creating, joining, locking or repairing anything.
pub(crate) fn open(directory: &Path, proof: &Proof) -> Result<Opened, LogError> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    bus_directory::look_at_place(directory)?;
    match fs::symlink_metadata(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Opened::Absent),
        Err(error) => return Err(failed("look at", directory, error)),
        Ok(_) => {}
    }
    if bus_json::load(&*disk, directory)?.is_none() {
        let is_empty = bus_directory::is_empty(directory);
        let is_empty = is_empty.map_err(|error| failed("list", directory, error))?;
        return Ok(if is_empty { Opened::Absent } else { Opened::Foreign });
    }
    // If other users may write to the directory, its files prove nothing.
    bus_directory::look_at(directory)?;
    let options = Options { networks: Networks::Allowed, ..Options::default() };
    let opening = bus_origin::Opening { directory, disk: &*disk, options: &options, proof };
    if proof.foreign != Foreign::TakenOver && !opening.is_own()? {
        return Ok(Opened::Foreign);
    }
    let options = Options { origin: Origin::Believed, ..options };
    let log = FileLog::open_present(directory, &disk, options)?;
    // Without a log, the bus has just been removed.
    Ok(log.map_or(Opened::Absent, |log| Opened::Log(Box::new(log))))
}
