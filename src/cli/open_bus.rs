//! The only place that opens a bus.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use super::{Failure, hidden_agents, load_config};
use crate::bus::storage::file::known_buses;
use crate::bus::storage::file::{
    BUS_JSON, FileLog, Foreign, Networks, NewOrder, Options, Origin, Proof,
};
use crate::bus::storage::{LogError, OrderedBy};
use crate::bus::{Bus, BusError, Joining, Membership};
use crate::config::{BusOfNew, Config};
use crate::domain::env_vars;
use crate::domain::name::Name;
use crate::domain::text::counted::counted;
use crate::mcp::ToolError;
use crate::sys::clock;
use crate::sys::fs::disk::{Disk, RealDisk};
use crate::sys::fs::file_lock::LifeLock;
use crate::sys::fs::user_state_dir::StateDirectory;
use crate::sys::mutex::lock;
use crate::sys::process::pid_namespace::{self, Sight};
use crate::team;

/// A bus that this process leads or joins from outside. It must prove that it was created where it is.
#[derive(Clone, Debug)]
pub(crate) struct Outside {
    directory: PathBuf,
    networks: Networks,
    origin: Origin,
    wanted: Option<WantedServer>,
    notice: KeptNotice,
}

/// The server that is to keep the order of the bus, if the project has none yet.
#[derive(Clone, Debug)]
struct WantedServer {
    server: String,
    team: String,
    /// Whether the user has said so for this very project, so that another bus is an error.
    is_demanded: bool,
}

impl Outside {
    pub(super) fn new(directory: PathBuf, networks: Networks, foreign: Foreign) -> Self {
        let (origin, notice) = (proven(foreign), KeptNotice::default());
        Self { directory, networks, origin, wanted: None, notice }
    }

    /// Names the server of a new bus, as the configuration says. The team has the name of the project's directory, if none is named.
    pub(super) fn with_bus_of_new(mut self, bus: &BusOfNew, is_demanded: bool) -> Self {
        let project = self.directory.parent().and_then(Path::parent);
        let of_directory = || Some(project?.file_name()?.to_string_lossy().into_owned());
        self.wanted = bus.server.clone().map(|server| WantedServer {
            server,
            team: bus.team.clone().or_else(of_directory).unwrap_or_default(),
            is_demanded,
        });
        self
    }

    fn open(&self) -> Result<OpenedBus, BusError> {
        let order = self.order_of_new()?;
        let options = Options {
            networks: self.networks,
            origin: self.origin.clone(),
            order,
            ..Options::default()
        };
        let log = FileLog::open(&self.directory, Arc::new(RealDisk), options)?;
        if let Some(aside) = log.put_aside() {
            *self.notice.lock() = Some(aside.to_owned());
        }
        Ok(OpenedBus { bus: Bus::open(Box::new(log))?, notice: self.notice.clone() })
    }
}

impl Outside {
    /// Returns who is to keep the order if there is no bus yet. A bus that another keeps stays what it is, and its user is told.
    fn order_of_new(&self) -> Result<NewOrder, LogError> {
        let Some(WantedServer { server, team, is_demanded }) = &self.wanted else {
            return Ok(NewOrder::AsRecorded);
        };
        let present = match kept_by(&self.directory)? {
            KeptBy::Nobody => {
                return Ok(NewOrder::Chosen { server: server.clone(), team: team.clone() });
            }
            KeptBy::Server(order) if order.server == *server && order.team == *team => {
                return Ok(NewOrder::AsRecorded);
            }
            KeptBy::Server(order) => {
                format!("is that of the team {:?} on {}", order.team, order.server)
            }
            KeptBy::Files => "is in files".to_owned(),
        };
        let why = format!(
            "the bus of this project {present}, and stays so: what names another server (`bus`, `--bus`) counts only for a project without a \
             bus. `cli-team-bridge bus copy` takes a bus with its history to a server"
        );
        if *is_demanded {
            return Err(refused(&self.directory, why));
        }
        tracing::warn!("{why}");
        Ok(NewOrder::AsRecorded)
    }
}

/// The new name of a bus that was set aside: kept over failed attempts to join, until its notice is on the bus.
#[derive(Clone, Debug, Default)]
struct KeptNotice(Arc<Mutex<Option<String>>>);

impl KeptNotice {
    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        lock(&self.0)
    }
}

/// Returns what happens to a foreign bus; `adopt` is the flag of the command line.
pub(super) fn foreign(adopt: bool) -> Foreign {
    let by_variable = std::env::var_os(env_vars::ADOPT);
    if adopt || by_variable.is_some_and(|value| !value.is_empty() && value != "0") {
        Foreign::TakenOver
    } else {
        Foreign::PutAside
    }
}

/// Returns the proof of origin that a process from outside demands of a bus.
pub(super) fn proven(foreign: Foreign) -> Origin {
    Origin::Proven(Proof { state: StateDirectory::of_process(), foreign })
}

/// An open bus, and the notice for the member that joins it.
pub(super) struct OpenedBus {
    pub(super) bus: Bus,
    notice: KeptNotice,
}

impl OpenedBus {
    pub(super) async fn join(self, joining: Joining) -> Result<Membership, BusError> {
        let put_aside = self.notice.lock().clone();
        let membership = Membership::join_after(&self.bus, joining, put_aside).await?;
        *self.notice.lock() = None;
        Ok(membership)
    }
}

fn open(directory: &Path, networks: Networks, origin: Origin) -> Result<FileLog, LogError> {
    let options = Options { networks, origin, ..Options::default() };
    FileLog::open(directory, Arc::new(RealDisk), options)
}

/// Opens a bus that this process itself has created. Blocks for the milliseconds that reading a snapshot takes.
pub(super) fn open_own_bus(directory: &Path) -> Result<Bus, BusError> {
    let log = open(directory, Networks::Allowed, Origin::Believed)?;
    Bus::open(Box::new(log))
}

/// Opens an existing bus, and never creates one; `None` if it is missing or foreign.
pub(super) fn open_present_bus(directory: &Path) -> Result<Option<Bus>, BusError> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let options = Options { origin: proven(foreign(false)), ..Options::default() };
    let log = FileLog::open_present(directory, &disk, options)?;
    log.map(|log| Bus::open(Box::new(log))).transpose()
}

/// Opens an existing bus for a person who acts on its team, and never creates one; `None` if it is missing or foreign. Whoever created it
/// has decided whether it may be on a network file system.
pub(super) fn open_bus_in_use(directory: &Path) -> Result<Option<Bus>, BusError> {
    open_own(directory)?.map(|log| Bus::open(Box::new(log))).transpose()
}

/// Opens the log of an existing bus that was created here, for a person. It may be on a network file system.
fn open_own(directory: &Path) -> Result<Option<FileLog>, LogError> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let origin = proven(Foreign::PutAside);
    let options = Options { origin, networks: Networks::Allowed, ..Options::default() };
    FileLog::open_present(directory, &disk, options)
}

/// Who keeps the order of a bus.
pub(super) enum KeptBy {
    /// There is no bus that was created here.
    Nobody,
    /// The files themselves.
    Files,
    Server(OrderedBy),
}

/// Returns who keeps the order of a bus.
pub(super) fn kept_by(directory: &Path) -> Result<KeptBy, LogError> {
    let log = open_own(directory)?;
    Ok(log.map_or(KeptBy::Nobody, |log| log.order().cloned().map_or(KeptBy::Files, KeptBy::Server)))
}

/// Brings the mirror of a shared bus up to date.
pub(super) fn fetch(directory: &Path) -> Result<(), Failure> {
    let Some(log) = open_own(directory)? else { return Ok(()) };
    Bus::fetch_once(Box::new(log)).map_err(|error| error.to_string().into())
}

/// Brings the mirror of a shared bus up to date for a command that looks, unless a member's process here does so. Says why it could not.
pub(super) fn fetch_for_window(directory: &Path) -> Option<String> {
    let log = open_own(directory).ok()??;
    if log.order().is_none() || FileLog::is_linked(directory) {
        return None;
    }
    Bus::fetch_once(Box::new(log)).err().map(|error| error.to_string())
}

/// Begins a bus in files alone, also where this user's last one in the directory was a shared one.
pub(super) fn create_in_files(directory: &Path) -> Result<(), Failure> {
    let origin = proven(foreign(false));
    let options = Options { origin, order: NewOrder::Files, ..Options::default() };
    FileLog::open(directory, Arc::new(RealDisk), options)?;
    Ok(())
}

/// Makes a bus the mirror of one that a server orders, or opens it if it is.
pub(super) fn create_mirror(directory: &Path, order: &OrderedBy) -> Result<Bus, Failure> {
    let origin = proven(foreign(false));
    let options = Options { origin, order: NewOrder::Server(order.clone()), ..Options::default() };
    let log = FileLog::open(directory, Arc::new(RealDisk), options)?;
    Bus::open(Box::new(log)).map_err(|error| error.to_string().into())
}

/// Finds a live agent on any bus that this user has created, with `find` for each bus. Blocks, and opens only buses with live
/// members.
pub(super) fn agent_at_work(find: impl Fn(&Bus) -> Option<Name>) -> Result<Option<Name>, Failure> {
    let Some(state) = StateDirectory::of_process() else {
        return Ok(None); // Then no bus was created, and nothing approved.
    };
    for directory in known_buses::known(&state)? {
        if is_in_use(&directory)
            && let Some(bus) = open_present_bus(&directory)?
            && let Some(agent) = find(&bus)
        {
            return Ok(Some(agent));
        }
    }
    Ok(None)
}

/// Returns a live agent, on any bus of this user, that may be a hidden ancestor of this process.
pub(super) fn agent_out_of_sight() -> Result<Option<Name>, Failure> {
    if pid_namespace::look() == Sight::Whole {
        return Ok(None);
    }
    agent_at_work(hidden_agents::hidden_agent)
}

/// Returns whether a live member holds a presence on a bus.
fn is_in_use(directory: &Path) -> bool {
    let presences = std::fs::read_dir(directory.join("presence"));
    let mut presences = presences.into_iter().flatten().flatten();
    presences.any(|presence| LifeLock::is_held(&presence.path()).unwrap_or(true))
}

/// Records that a bus is in use, and forgets the records of deleted projects.
pub(super) fn keep_counterparts(directory: &Path) {
    let Some(state) = StateDirectory::of_process() else {
        return;
    };
    let now_ms = clock::now().wall_ms;
    let kept = known_buses::note_use(&state, directory)
        .and_then(|()| known_buses::forget_the_gone(&state, now_ms))
        .and_then(|buses| Ok(buses + load_config::trust_store().forget_the_gone(now_ms)?));
    match kept {
        Ok(0) => {}
        Ok(gone) => {
            let files = counted(gone, "file");
            tracing::debug!("removed {files} of deleted projects from the state directory");
        }
        Err(error) => tracing::debug!("failed to clean up the state directory: {error}"),
    }
}

/// Returns where the project of a bus was before it was moved, as far as that is recorded.
pub(super) fn former_projects(directory: &Path) -> Vec<PathBuf> {
    let former = StateDirectory::of_process()
        .map_or(Ok(Vec::new()), |state| known_buses::former_projects(&state, directory));
    former.unwrap_or_else(|error| {
        tracing::debug!("failed to read where the project was: {error}");
        Vec::new()
    })
}

/// Opens a bus from outside, or creates it, on a thread of its own, so that the server answers meanwhile.
pub(super) async fn open_bus_aside(outside: Outside) -> Result<OpenedBus, BusError> {
    let directory = outside.directory.clone();
    if team::is_tracked_by_git(&directory, std::env::vars_os().collect()).await {
        let refused = LogError::Refused {
            path: directory,
            reason: "git tracks files in it, so a pull could change it. Run `git rm -r --cached` \
                     on it, commit, and start again"
                .to_owned(),
        };
        return Err(refused.into());
    }
    aside(move || {
        // Before opening the bus, which may set it aside.
        let hidden = agent_out_of_sight().map_err(|error| {
            tracing::error!("cannot tell which agents are live: {error}");
            let why = "cannot tell from this PID namespace whether a live agent started this \
                process";
            refused(&directory, why.to_owned())
        })?;
        let hides =
            |agent: &Name| refused(&directory, hidden_agents::hides(agent, "lead or join a team"));
        if let Some(agent) = hidden {
            return Err(hides(&agent).into());
        }
        let opened = outside.open()?;
        match hidden_agents::hidden_agent(&opened.bus) {
            Some(agent) => Err(hides(&agent).into()),
            None => Ok(opened),
        }
    })
    .await
}

/// Opens a bus that must exist: a process that one of its members started creates no new one in its place.
pub(super) async fn open_present_bus_aside(directory: PathBuf) -> Result<Bus, BusError> {
    aside(move || {
        if directory.join(BUS_JSON).exists() {
            // Its bridge has decided whether it may be there and is trusted.
            open_own_bus(&directory)
        } else {
            Err(LogError::Removed.into())
        }
    })
    .await
}

fn refused(bus: &Path, reason: String) -> LogError {
    LogError::Refused { path: bus.to_owned(), reason }
}

async fn aside<T: Send + 'static>(
    open: impl FnOnce() -> Result<T, BusError> + Send + 'static,
) -> Result<T, BusError> {
    let opened = tokio::task::spawn_blocking(open).await;
    opened.map_err(|_| BusError::Closed)?
}

/// Logs why a bus could not be opened or joined, and returns what a model is told of it: its error names no path, and the log is for
/// people. A refusal of the rules is the same for both.
pub(super) fn logged(error: BusError) -> ToolError {
    if let BusError::Log(error) = &error {
        tracing::error!("failed to open the bus: {error}");
    }
    error.into()
}

/// Returns the setting for network file systems.
pub(super) fn networks(config: &Config) -> Networks {
    if config.limits().allow_network_file_system.value {
        Networks::Allowed
    } else {
        Networks::Refused
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::bus::rules::{Description, NameChoice};
    use crate::bus::state::State;
    use crate::domain::member::MemberKind;
    use crate::sys::fs::file_lock::LockFile;

    #[tokio::test]
    async fn an_endpoint_creates_no_bus_in_place_of_a_removed_one() {
        let project = tempfile::tempdir().unwrap();
        let directory = project.path().join(".claude/bridge");
        let refused = open_present_bus_aside(directory.clone()).await.err();
        assert!(matches!(refused, Some(BusError::Log(LogError::Removed))));
        assert!(!directory.exists());

        open_own_bus(&directory).unwrap().close().await;
        assert!(open_present_bus_aside(directory).await.is_ok());
    }

    #[tokio::test]
    async fn a_set_aside_bus_is_reported_by_the_first_join_that_is_recorded() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("project/.claude/bridge");
        std::fs::create_dir(place.path().join("project")).unwrap();
        open_own_bus(&directory).unwrap().close().await;
        let home = place.path().join("home");
        let state = StateDirectory::find(|name| (name == "HOME").then(|| home.clone().into()));
        let mut outside = Outside::new(directory.clone(), Networks::Allowed, Foreign::PutAside);
        outside.origin = Origin::Proven(Proof { state, foreign: Foreign::PutAside });
        let joining = Joining {
            choice: NameChoice::Like(Name::parse("orchestrator").unwrap()),
            kind: MemberKind::Orchestrator,
            roles: Vec::new(),
            description: Description::default(),
        };

        let opened = outside.open().unwrap();
        let lock = LockFile::open(&directory.join("lock")).unwrap();
        let held = lock.acquire(Duration::ZERO).unwrap().unwrap();
        let busy = opened.join(joining.clone()).await.err();
        assert!(matches!(busy, Some(BusError::Log(LogError::Busy { .. }))));
        drop(held);
        // The second member takes the name of the first, and its unread messages.
        let mut before = None;
        for _ in 0..2 {
            let opened = outside.open().unwrap();
            // A process that another test starts right now shares all locks until it runs its program.
            while before.is_some_and(|session| opened.bus.is_held(session)) {
                tokio::task::yield_now().await;
            }
            let membership = opened.join(joining.clone()).await.unwrap();
            before = Some(membership.session());
            let unread = |state: &State| state.unread(membership.name()).count();
            assert_eq!(membership.bus().look(unread), 1);
            membership.bus().close().await;
        }
    }
}
