//! The one place where a bus is opened: everything else is given one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::bus::file::{FileLog, Networks, Options};
use crate::bus::log::LogError;
use crate::bus::{Bus, BusError};
use crate::config::Config;
use crate::sys::disk::{Disk, RealDisk};

/// The file that makes a directory a bus.
const IDENTITY: &str = "bus.json";

/// Opens the bus in a directory, or makes it. Blocks for the milliseconds that reading a snapshot takes.
pub(super) fn open_bus(directory: &Path, networks: Networks) -> Result<Bus, BusError> {
    let options = Options {
        networks,
        ..Options::default()
    };
    let log = FileLog::open(directory, Arc::new(RealDisk), options)?;
    Bus::open(Box::new(log))
}

/// Opens the bus that is in a directory, and makes none.
pub(super) fn open_present_bus(directory: &Path) -> Result<Option<Bus>, BusError> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let log = FileLog::open_present(directory, &disk, Options::default())?;
    log.map(|log| Bus::open(Box::new(log))).transpose()
}

/// Opens the bus on a thread of its own, so that the server answers meanwhile.
pub(super) async fn open_bus_aside(
    directory: PathBuf,
    networks: Networks,
) -> Result<Bus, BusError> {
    aside(move || open_bus(&directory, networks)).await
}

/// Does the same for a bus that must be there: who was started by somebody on it makes no new one in its place.
pub(super) async fn open_present_bus_aside(directory: PathBuf) -> Result<Bus, BusError> {
    aside(move || {
        if directory.join(IDENTITY).exists() {
            // Whether it may be there its bridge has decided.
            open_bus(&directory, Networks::Allowed)
        } else {
            Err(LogError::Removed.into())
        }
    })
    .await
}

async fn aside(
    open: impl FnOnce() -> Result<Bus, BusError> + Send + 'static,
) -> Result<Bus, BusError> {
    let opened = tokio::task::spawn_blocking(open).await;
    let opened = opened.map_err(|_| BusError::Closed)?;
    if let Err(error) = &opened {
        // What a model is told names no path; this is for people.
        tracing::error!("failed to open the bus: {error}");
    }
    opened
}

/// Returns what a configuration says of network file systems.
pub(super) fn networks(config: &Config) -> Networks {
    if config.limits().allow_network_file_system.value {
        Networks::Allowed
    } else {
        Networks::Refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_was_started_on_a_bus_makes_no_new_one_in_its_place() {
        let project = tempfile::tempdir().unwrap();
        let directory = project.path().join(".claude/bridge");
        let refused = open_present_bus_aside(directory.clone()).await.err();
        assert!(matches!(refused, Some(BusError::Log(LogError::Removed))));
        assert!(!directory.exists());

        open_bus(&directory, Networks::Refused)
            .unwrap()
            .close()
            .await;
        assert!(open_present_bus_aside(directory).await.is_ok());
    }
}
