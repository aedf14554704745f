//! A temporary project with a bus, and members of this process on that bus.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use cli_team_bridge::bus::rules::{Description, NameChoice};
use cli_team_bridge::bus::storage::file::{FileLog, Options};
use cli_team_bridge::bus::{Bus, Joining, Membership};
use cli_team_bridge::domain::member::{Departure, MemberKind};
use cli_team_bridge::domain::name::Name;
use cli_team_bridge::sys::fs::disk::RealDisk;
use tempfile::TempDir;

use super::Outcome;

/// The length of a message in all figures.
pub(crate) const MESSAGE_BYTES: usize = 300;

/// A temporary directory with a project. Dropping it removes it.
pub(crate) struct Project {
    directory: TempDir,
}

impl Project {
    /// Makes a project in `BENCH_DIRECTORY`, or else in the build directory: the system's temporary directory may be in memory.
    pub(crate) fn new() -> Outcome<Self> {
        let parent = std::env::var_os("BENCH_DIRECTORY");
        let parent = parent.unwrap_or_else(|| env!("CARGO_TARGET_TMPDIR").into());
        let directory = tempfile::tempdir_in(parent)?;
        // A repository of its own protects the one around the build directory, and a task costs as much as in any repository. A
        // machine without git needs neither.
        let git = Command::new("git").args(["init", "--quiet"]).arg(directory.path()).status();
        match git {
            Ok(status) if !status.success() => Err(format!("`git init` failed: {status}").into()),
            _ => Ok(Self { directory }),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the directory of its bus.
    pub(crate) fn bus(&self) -> PathBuf {
        self.path().join(".claude").join("bridge")
    }

    /// Returns the directory of its bus as a command-line argument.
    pub(crate) fn bus_argument(&self) -> String {
        self.bus().to_string_lossy().into_owned()
    }
}

/// Opens a bus.
pub(crate) fn open(directory: &Path) -> Outcome<Bus> {
    let log = FileLog::open(directory, Arc::new(RealDisk), Options::default())?;
    Ok(Bus::open(Box::new(log))?)
}

/// Joins a bus.
pub(crate) async fn join(bus: &Bus, name: &str) -> Outcome<Membership> {
    let joining = Joining {
        choice: NameChoice::Chosen(Name::parse(name)?),
        kind: MemberKind::Peer,
        roles: Vec::new(),
        description: Description::default(),
    };
    Ok(Membership::join(bus, joining).await?)
}

/// Registers a member that has left: it gets mail, and no process is woken for it.
pub(crate) async fn absent(bus: &Bus, name: &str) -> Outcome {
    let membership = join(bus, name).await?;
    Ok(membership.leave(Departure::Closed).await?)
}

/// Returns a text of the usual length that begins with `head`.
pub(crate) fn text(head: &str) -> String {
    format!("{head:x<MESSAGE_BYTES$}")
}

/// Runs a future on one thread, as in a process that mostly sleeps.
pub(crate) fn run<T>(work: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}
