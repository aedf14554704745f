//! The team for trials of agents: in a room with a bus of its own, removed after the trials. The project's bus and the user's state
//! directory stay untouched.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::trial_place::{PlaceError, TrialPlace};
use super::vendor_folders;
use crate::bus::rules::{Description, NameChoice};
use crate::bus::storage::file::{FileLog, Networks, Options};
use crate::bus::{Bus, BusError, Joining, Membership};
use crate::config::Config;
use crate::domain::env_vars;
use crate::domain::grace_periods;
use crate::domain::member::{Departure, MemberKind, PLAN_ROLE};
use crate::domain::name::{Name, NameError};
use crate::sys::fs::disk::RealDisk;
use crate::team::{Launch, Team, UserReachable};

/// The doctor's name on that bus.
const NAME: &str = "doctor";

/// The script of the scripted agent, which only starts.
const SCRIPT: &str = "[agents.default]\n";

/// A room with a team in it.
pub(super) struct TrialRoom {
    pub(super) team: Team,
    place: TrialPlace,
    /// The environment of the agents.
    environment: Vec<(OsString, OsString)>,
}

/// Why the room cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub(super) enum RoomError {
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// A file in it cannot be written.
    #[error("cannot use the directory of the trials: {0}")]
    Directory(#[from] io::Error),
    /// No bus can be created in it.
    #[error(transparent)]
    Bus(#[from] BusError),
    #[error(transparent)]
    Name(#[from] NameError),
}

impl RoomError {
    /// Says what to do about it.
    pub(super) fn remedy(&self) -> &'static str {
        match self {
            Self::Place(_) => {
                "set XDG_CACHE_HOME to a directory of your own, with none above it that other users may change"
            }
            Self::Directory(_) | Self::Bus(_) | Self::Name(_) => {
                "free space on the disk of your home directory, or set XDG_CACHE_HOME to a directory of your own elsewhere"
            }
        }
    }
}

impl TrialRoom {
    /// Creates the room, the bus and the team. `launch` says how agents are started, `config` which profiles there are.
    pub(super) async fn open(launch: &Launch, config: &Config) -> Result<Self, RoomError> {
        let environment = launch.environment.clone();
        let place = TrialPlace::make(|name| path_in(&environment, name), std::env::temp_dir())?;
        let root = place.path().to_owned();
        let script = root.join("script.toml");
        std::fs::write(&script, SCRIPT)?;
        let bus_dir = root.join(".claude/bridge");
        let options = Options { networks: Networks::Allowed, ..Options::default() };
        let log = FileLog::open(&bus_dir, Arc::new(RealDisk), options).map_err(BusError::Log)?;
        let bus = Bus::open(Box::new(log))?;
        let joining = Joining {
            choice: NameChoice::Like(Name::parse(NAME)?),
            kind: MemberKind::Orchestrator,
            roles: vec![PLAN_ROLE.to_owned()],
            description: Description::default(),
        };
        let membership = Membership::join(&bus, joining).await?;
        let mut launch =
            Launch { project: root.clone(), ground: root.clone(), bus_dir, ..launch.clone() };
        launch.environment.retain(|(name, _)| name != env_vars::SCRIPT);
        launch.environment.push((env_vars::SCRIPT.into(), script.into()));
        let team = Team::new(membership, config.clone(), launch, UserReachable::default());
        Ok(Self { team, place, environment })
    }

    pub(super) fn path(&self) -> &Path {
        self.place.path()
    }

    /// Ends all running agents and the team. `force` resolves when that has to be quick.
    pub(super) async fn close(self, force: impl Future<Output = ()>) {
        self.team.shutdown(force).await;
        let leaving = async {
            if let Err(error) = self.team.membership().leave(Departure::Closed).await {
                tracing::debug!("failed to leave the team of the trials: {error}");
            }
            self.team.bus().close().await;
        };
        // After a timeout, the rest goes with the room.
        let _ = tokio::time::timeout(grace_periods::SERVER, leaving).await;
        vendor_folders::remove_for(self.path(), |name| path_in(&self.environment, name));
    }
}

/// Returns the path in a variable.
fn path_in(environment: &[(OsString, OsString)], name: &str) -> Option<PathBuf> {
    let found = environment.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute())
}
