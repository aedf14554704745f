//! The one place where a bus is opened: everything else is given one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::bus::file::{FileLog, Foreign, Networks, Options, Origin, Proof};
use crate::bus::log::LogError;
use crate::bus::rules::Ask;
use crate::bus::{Bus, BusError, Joining, Seat};
use crate::config::Config;
use crate::sys::disk::{Disk, RealDisk};
use crate::sys::state_directory::StateDirectory;
use crate::team;

/// The file that makes a directory a bus.
const IDENTITY: &str = "bus.json";

/// By this variable the user takes over whatever bus is there, as by `--adopt`: where no state directory lasts, as in containers.
const ADOPT: &str = "BRIDGE_ADOPT";

/// A bus that is led or joined from outside, and has to prove that it was made where it is.
#[derive(Clone, Debug)]
pub(super) struct Outside {
    pub(super) directory: PathBuf,
    pub(super) networks: Networks,
    pub(super) foreign: Foreign,
}

/// Says what becomes of a foreign bus; `adopt` is what the command line says.
pub(super) fn foreign(adopt: bool) -> Foreign {
    let by_variable = std::env::var_os(ADOPT);
    if adopt || by_variable.is_some_and(|value| !value.is_empty() && value != "0") {
        Foreign::TakenOver
    } else {
        Foreign::PutAside
    }
}

/// Returns what a bus has to prove to who comes from outside.
pub(super) fn proven(foreign: Foreign) -> Origin {
    Origin::Proven(Proof {
        state: StateDirectory::of_process(),
        foreign,
    })
}

/// A bus, and what who joins it has to know.
pub(super) struct Opened {
    pub(super) bus: Bus,
    told: Option<String>,
}

impl Opened {
    /// Joins the bus.
    pub(super) async fn join(self, joining: Joining) -> Result<Seat, BusError> {
        let seat = Seat::join(&self.bus, joining).await?;
        if let Some(told) = self.told {
            seat.ask(Ask::TellPutAside(told)).await?;
        }
        Ok(seat)
    }
}

fn open(directory: &Path, networks: Networks, origin: Origin) -> Result<Opened, BusError> {
    let options = Options {
        networks,
        origin,
        ..Options::default()
    };
    let log = FileLog::open(directory, Arc::new(RealDisk), options)?;
    let told = log.put_aside().map(str::to_owned);
    Ok(Opened {
        bus: Bus::open(Box::new(log))?,
        told,
    })
}

/// Opens the bus in a directory that this process itself has made. Blocks for the milliseconds that reading a snapshot takes.
pub(super) fn open_own_bus(directory: &Path) -> Result<Bus, BusError> {
    Ok(open(directory, Networks::Allowed, Origin::Believed)?.bus)
}

/// Opens the bus that is in a directory, and makes none; none where it is foreign.
pub(super) fn open_present_bus(directory: &Path) -> Result<Option<Bus>, BusError> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let options = Options {
        origin: proven(foreign(false)),
        ..Options::default()
    };
    let log = FileLog::open_present(directory, &disk, options)?;
    log.map(|log| Bus::open(Box::new(log))).transpose()
}

/// Opens a bus from outside, or makes it, on a thread of its own, so that the server answers meanwhile.
pub(super) async fn open_bus_aside(outside: Outside) -> Result<Opened, BusError> {
    let Outside {
        directory,
        networks,
        foreign,
    } = outside;
    if team::is_tracked_by_git(&directory, std::env::vars_os().collect()).await {
        let refused = LogError::Refused {
            path: directory,
            reason: "git tracks files in it, so a pull could change it: run `git rm -r --cached` on it, commit that, and start \
                     again"
                .to_owned(),
        };
        tracing::error!("failed to open the bus: {refused}");
        return Err(refused.into());
    }
    aside(move || open(&directory, networks, proven(foreign))).await
}

/// Opens a bus that must be there: who was started by somebody on it makes no new one in its place.
pub(super) async fn open_present_bus_aside(directory: PathBuf) -> Result<Bus, BusError> {
    aside(move || {
        if directory.join(IDENTITY).exists() {
            // Whether it may be there, and is to be believed, its bridge has decided.
            open_own_bus(&directory)
        } else {
            Err(LogError::Removed.into())
        }
    })
    .await
}

async fn aside<T: Send + 'static>(
    open: impl FnOnce() -> Result<T, BusError> + Send + 'static,
) -> Result<T, BusError> {
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

        open_own_bus(&directory).unwrap().close().await;
        assert!(open_present_bus_aside(directory).await.is_ok());
    }
}
