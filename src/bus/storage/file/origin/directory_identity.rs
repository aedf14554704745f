//! The identity of a bus directory, as exactly as the system can tell.

use std::io;
use std::path::Path;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::sys::fs::disk::{FileIdentity, file_system};

/// The identity of a directory.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Site {
    device: u64,
    pub(crate) inode: u64,
    /// The file system's own id; zero where it has none.
    #[serde(default)]
    file_system: u64,
    /// When the directory was created, in nanoseconds since 1970, if the system keeps that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    born_ns: Option<u64>,
}

/// The identity of a directory, and the boot in which it was seen: another boot may give the device another number.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SeenDirectory {
    #[serde(flatten)]
    pub(crate) site: Site,
    pub(crate) boot: u32,
}

impl Site {
    pub(crate) fn of(directory: &Path) -> io::Result<Self> {
        let metadata = std::fs::symlink_metadata(directory)?;
        let FileIdentity { device, inode } = FileIdentity::from(&metadata);
        // Where the system keeps no such time, there is none to compare.
        let born = metadata.created().ok();
        let born = born.and_then(|born| born.duration_since(SystemTime::UNIX_EPOCH).ok());
        Ok(Self {
            device,
            inode,
            file_system: file_system(directory)?,
            born_ns: born.and_then(|born| u64::try_from(born.as_nanos()).ok()),
        })
    }

    /// Says whether this is the same directory, seen in this boot or in another one.
    fn is(&self, now: &Self, same_boot: bool) -> bool {
        let same_device = self.device == now.device
            || !same_boot
            || (self.file_system != 0 && self.file_system == now.file_system);
        let same_birth = match (self.born_ns, now.born_ns) {
            (Some(before), Some(now)) => before == now,
            _ => true,
        };
        self.inode == now.inode && same_device && same_birth
    }
}

impl SeenDirectory {
    /// Says whether this is the same directory as the one that is seen now.
    pub(crate) fn is(&self, now: &Self) -> bool {
        self.site.is(&now.site, self.boot == now.boot)
    }
}
