//! The origin of a bus: it is trusted only where it was created.
//!
//! A bus may come with a clone, a copy or an archive. Then the work, processes and workflows in its log are another user's claims. So
//! the process that creates a bus writes a counterpart into the user's state directory: the place of the bus, and its secret. A bus
//! without a counterpart is foreign. Nothing in it is resumed, swept or run: it is put aside under another name, and a new bus begins,
//! unless the user adopts it.
//!
//! The counterpart is on disk before the identity of the bus. A crash in between leaves an unfinished bus, which the next process
//! completes. All changes are decided under the lock of the bus: of several processes at once, one creates the bus or puts it aside,
//! and the others find the result.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::directory_identity::{SeenDirectory, Site};
use super::pending_change::KeeperChange;
use super::required_proof::{Foreign, Proof};
use crate::bus::storage::file::bus_json::{self, BusHeader};
use crate::bus::storage::file::io_failure::{failed, names_in_part};
use crate::bus::storage::file::log::snapshot;
use crate::bus::storage::file::{NewOrder, Options, bus_directory, git_exclude};
use crate::bus::storage::postgres::make_team;
use crate::bus::storage::{LogError, OrderedBy};
use crate::domain::text::shown_path::ShownPath as _;
use crate::domain::time::iso8601;
use crate::domain::wait_times;
use crate::sys::fs::disk::{Disk, RealDisk};
use crate::sys::fs::file_lock::{LifeLock, LockFile};
use crate::sys::fs::user_state_dir::StateDirectory;
use crate::sys::random_ids;

/// The directory of all counterparts in the user's state directory.
const COUNTERPARTS: &str = "buses";

/// How often to open again after other processes have put the bus aside or removed it meanwhile.
const ATTEMPTS: usize = 8;

/// The most foreign buses put aside in a day.
const MOST_ASIDE: u32 = 100;

/// Why a mirror is not adopted: a file of the project would choose the server, and its copy would pass for the host of the original.
const MIRROR_OF_OTHERS: &str = "it is a copy of a bus that several machines share, which is not adopted: move it aside and run \
                                `cli-team-bridge bus init` with the server and the team";

/// The record of a bus in the state directory.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Counterpart {
    /// The directory, for people.
    pub(super) path: PathBuf,
    pub(super) secret: String,
    /// Where it was before it was moved; `known_buses` keeps it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) was: Vec<PathBuf>,
    /// The server that keeps its order, if it is a mirror: no file of the project may name another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) order: Option<OrderedBy>,
    /// The change of that server that is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) change: Option<KeeperChange>,
    #[serde(flatten)]
    pub(super) seen: SeenDirectory,
}

/// The kind of a bus directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BusFound {
    /// A bus that was created here.
    Own,
    /// A directory without a bus yet.
    Unmade,
    Foreign,
}

/// Why a bus cannot be proven, and what to do. People and models read it, so it contains no path.
pub(super) struct Unprovable {
    why: &'static str,
    remedy: &'static str,
}

impl Unprovable {
    /// There is a state directory, and it cannot be used. Logs the error with its file, for people.
    fn of(why: &'static str, error: &io::Error) -> Self {
        tracing::error!("{why}: {error}");
        let remedy = if error.kind() == io::ErrorKind::InvalidData {
            "`cli-team-bridge doctor` says what is wrong with the user's state directory, and `doctor --fix` takes the rights of others \
             to it away; or set HOME or XDG_STATE_HOME to another one that lasts"
        } else {
            "make the user's state directory readable and writable, or set HOME or XDG_STATE_HOME to another one that lasts"
        };
        Self { why, remedy }
    }
}

/// A bus that has proven itself.
pub(crate) struct ProvenBus {
    pub(crate) lock: LockFile,
    pub(crate) bus: Uuid,
    /// The new name of the foreign bus that was put aside.
    pub(crate) put_aside: Option<String>,
}

/// The opening of a bus that has to prove itself.
pub(crate) struct Opening<'a> {
    pub(crate) directory: &'a Path,
    pub(crate) disk: &'a dyn Disk,
    pub(crate) options: &'a Options,
    pub(crate) proof: &'a Proof,
}

impl Opening<'_> {
    /// Opens the bus, or creates it, or puts a foreign one aside and creates a new one.
    pub(crate) fn open(&self) -> Result<ProvenBus, LogError> {
        let mut put_aside = None;
        for _ in 0..ATTEMPTS {
            match self.attempt(&mut put_aside) {
                Ok(Some((lock, bus))) => {
                    return Ok(ProvenBus { lock, bus, put_aside });
                }
                Ok(None) => {}
                // Another process has put it aside or removed it meanwhile.
                Err(LogError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Err(LogError::Removed)
    }

    /// Says whether an existing bus was created here, without changing anything. If that cannot be known, no session may use the bus,
    /// and the error says why.
    pub(crate) fn is_own(&self) -> Result<bool, LogError> {
        match self.look()? {
            Ok(found) => Ok(found == BusFound::Own),
            Err(why) => Err(self.refused(why.to_string())),
        }
    }

    /// Says whether an existing bus may be read, without changing anything. The reason for a no is only logged.
    pub(crate) fn is_believed(&self) -> Result<bool, LogError> {
        if self.proof.foreign == Foreign::TakenOver {
            return Ok(true);
        }
        match self.look()? {
            Ok(found) => Ok(found == BusFound::Own),
            Err(why) => {
                tracing::debug!("{why}");
                Ok(false)
            }
        }
    }

    /// Attempts it once. Returns none if another process has changed the directory meanwhile.
    fn attempt(
        &self,
        put_aside: &mut Option<String>,
    ) -> Result<Option<(LockFile, Uuid)>, LogError> {
        let directory = self.directory;
        bus_directory::prepare(directory, self.options.networks)?;
        let path = directory.join("lock");
        let lock = LockFile::open(&path).map_err(|error| failed("open", &path, error))?;
        let taken_over = self.proof.foreign == Foreign::TakenOver;
        if self.look()?.is_ok_and(|found| found == BusFound::Own) {
            match bus_json::load(self.disk, directory) {
                // The file says enough to be trusted, and not enough to be used, so it is written anew.
                Err(LogError::Refused { .. }) if taken_over => {}
                bus => return Ok(bus?.map(|bus| (lock, bus))),
            }
        }
        let guard = lock.acquire(self.options.patience);
        let guard = guard.map_err(|error| failed("lock", directory, error))?;
        let Some(guard) = guard else {
            return Err(LogError::Busy { holder: lock.queue().holder() });
        };
        if !lock.is_in_place() {
            return Ok(None);
        }
        let known = bus_json::load(self.disk, directory);
        let is_damaged = matches!(known, Err(LogError::Refused { .. }));
        let bus = match self.look()? {
            Ok(BusFound::Own) if !(taken_over && is_damaged) => return Ok(None),
            Ok(BusFound::Unmade) => {
                let order = self.order_of_new()?;
                self.make(random_ids::blob(), random_ids::token(), order)?
            }
            Ok(_) | Err(_) if taken_over => {
                if let Err(LogError::Newer) = known {
                    return Err(LogError::Newer);
                }
                let known = self.header()?.unwrap_or_default();
                if known.order.is_some() {
                    return Err(self.refused(MIRROR_OF_OTHERS.to_owned()));
                }
                let secret = self.secret_to_keep(&known)?.unwrap_or_else(random_ids::token);
                tracing::warn!(directory = %directory.display(), "this bus was adopted: its log is \
                    trusted from now on");
                // Under another id its own snapshots would not count, and the beginning of its log may be only there.
                let snapshots = directory.join("snapshot");
                let id = known.id.or_else(|| snapshot::bus_id(self.disk, &snapshots));
                self.make(id.unwrap_or_else(random_ids::blob), secret, None)?
            }
            Ok(_) => {
                *put_aside = Some(self.put_aside()?);
                return Ok(None);
            }
            Err(why) => return Err(self.refused(why.to_string())),
        };
        drop(guard);
        Ok(Some((lock, bus)))
    }

    /// Finds the kind of the directory. The inner error means that it cannot be known.
    fn look(&self) -> Result<Result<BusFound, Unprovable>, LogError> {
        let Some(known) = self.header()? else {
            let empty = bus_directory::is_empty(self.directory);
            let empty = empty.map_err(|error| failed("list", self.directory, error))?;
            let found = if empty { BusFound::Unmade } else { BusFound::Foreign };
            return Ok(self.counterparts().map(|_| found));
        };
        Ok(self.prove(&known, &self.seen_now()?))
    }

    /// Reads the header of the bus. Its owner and its mode do not matter to a user who adopts it: it is written anew.
    pub(super) fn header(&self) -> Result<Option<BusHeader>, LogError> {
        match bus_json::look(self.disk, self.directory) {
            Err(LogError::Refused { .. }) if self.proof.foreign == Foreign::TakenOver => {
                Ok(Some(BusHeader::default()))
            }
            header => header,
        }
    }

    fn sighting(&self) -> io::Result<SeenDirectory> {
        Ok(SeenDirectory {
            site: Site::of(self.directory)?,
            boot: (self.options.clock)().tick.boot,
        })
    }

    pub(super) fn seen_now(&self) -> Result<SeenDirectory, LogError> {
        let seen = self.sighting();
        seen.map_err(|error| failed("look at", self.directory, error))
    }

    /// Returns the secret to keep for a bus that is adopted where it was created: another home of its user trusts it there, and must
    /// continue to. A copied or moved bus gets a new secret.
    fn secret_to_keep(&self, known: &BusHeader) -> Result<Option<String>, LogError> {
        let now = self.seen_now()?;
        let is_in_place = known.made().is_some_and(|made| made.is(&now));
        Ok(known.secret.clone().filter(|_| is_in_place))
    }

    fn prove(&self, known: &BusHeader, now: &SeenDirectory) -> Result<BusFound, Unprovable> {
        let counterparts = self.counterparts()?;
        let (Some(id), Some(secret)) = (known.id, &known.secret) else {
            return Ok(BusFound::Foreign);
        };
        let name = name(id, &now.site);
        let kept = counterparts.read(&name).map_err(|error| {
            Unprovable::of("the record of where it was created cannot be read", &error)
        })?;
        let kept: Option<Counterpart> = kept.and_then(|text| serde_json::from_slice(&text).ok());
        let Some(kept) = kept else {
            return Ok(BusFound::Foreign);
        };
        if kept.secret != *secret || !kept.seen.is(now) {
            return Ok(BusFound::Foreign);
        }
        let is_changing = kept.change.as_ref().is_some_and(|change| change.to == known.order);
        if kept.order != known.order && !is_changing {
            return Err(Unprovable {
                why: "its bus.json names another server than the one that its user has chosen",
                remedy: "end all sessions, move `.claude/bridge` aside and run `cli-team-bridge bus init` with the server",
            });
        }
        if kept.seen != *now {
            // From now on in this boot, no directory on another device passes for it.
            let renewed = self.note(&counterparts, (id, secret.clone()), kept.order);
            if let Err(error) = renewed {
                tracing::warn!("failed to renew the record of where the bus was created: {error}");
            }
        }
        Ok(BusFound::Own)
    }

    /// Returns who is to keep the order of a new bus. The mirror of a team that was lost becomes one again: a bus of its own in its place
    /// would cut its members off without a word.
    fn order_of_new(&self) -> Result<Option<OrderedBy>, LogError> {
        match &self.options.order {
            NewOrder::Server(order) => Ok(Some(order.clone())),
            NewOrder::Files => Ok(None),
            NewOrder::AsRecorded => self.recorded_order(),
            NewOrder::Chosen { server, team } => match self.recorded_order()? {
                Some(order) => Ok(Some(order)),
                None => make_team(server, team, Instant::now() + wait_times::SERVER).map(Some),
            },
        }
    }

    /// Returns who kept the order of the bus that this user last made in this directory.
    fn recorded_order(&self) -> Result<Option<OrderedBy>, LogError> {
        let Ok(counterparts) = self.counterparts() else { return Ok(None) };
        match self.last_recorded(&counterparts) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let why = "the records of where buses were created cannot be read";
                Err(self.refused(Unprovable::of(why, &error).to_string()))
            }
            // Then the new bus cannot be recorded either, which says what is wrong.
            recorded => Ok(recorded.unwrap_or_default()),
        }
    }

    /// Returns who kept the order of the bus that was last made in this directory.
    fn last_recorded(&self, counterparts: &StateDirectory) -> io::Result<Option<OrderedBy>> {
        let mut newest = None;
        for (name, _) in counterparts.names()? {
            let text = counterparts.read(&name)?.unwrap_or_default();
            let kept: Option<Counterpart> = serde_json::from_slice(&text).ok();
            // Ids begin with their time.
            if let Some(kept) = kept.filter(|kept| kept.path == self.directory)
                && newest.as_ref().is_none_or(|(before, _)| *before < name)
            {
                newest = Some((name, kept.order));
            }
        }
        Ok(newest.and_then(|(_, order)| order))
    }

    /// Writes the counterpart of the bus, and then its identity.
    fn make(&self, bus: Uuid, secret: String, order: Option<OrderedBy>) -> Result<Uuid, LogError> {
        let noted = self.counterparts().and_then(|counterparts| {
            let noted = self.note(&counterparts, (bus, secret.clone()), order.clone());
            noted.map_err(|error| {
                Unprovable::of("the record of where it was created cannot be written", &error)
            })
        });
        match noted {
            Ok(()) => {}
            Err(why) if self.proof.foreign == Foreign::TakenOver => tracing::warn!(
                "the record of where this bus was created cannot be kept, so each session has to \
                    adopt it: {}",
                why.why
            ),
            Err(why) => return Err(self.refused(why.to_string())),
        }
        let made = self.seen_now()?;
        bus_json::write(self.disk, self.directory, bus, Some((secret, &made)), order)?;
        Ok(bus)
    }

    fn note(
        &self,
        counterparts: &StateDirectory,
        bus: (Uuid, String),
        order: Option<OrderedBy>,
    ) -> io::Result<()> {
        let (id, secret) = bus;
        let seen = self.sighting()?;
        let name = name(id, &seen.site);
        let before = counterparts.read(&name).ok().flatten();
        let before: Option<Counterpart> =
            before.and_then(|text| serde_json::from_slice(&text).ok());
        // `known_buses` notes a move, so the path stays the former one until then.
        let (path, was, change) = before.filter(|before| before.secret == secret).map_or_else(
            || (self.directory.to_owned(), Vec::new(), None),
            |before| (before.path, before.was, before.change),
        );
        let counterpart = Counterpart { path, secret, was, order, change, seen };
        let text = serde_json::to_vec(&counterpart)?;
        counterparts.write(&name, &text)
    }

    /// Renames a foreign bus, unless live sessions use it. Returns the new name.
    fn put_aside(&self) -> Result<String, LogError> {
        if self.is_in_use()? {
            return Err(self.refused(
                "live sessions use it, and there is no record that it was created here: an older \
                 version may have made it, or the user's state directory was cleaned or has \
                 changed. End those sessions first, or start with --adopt (or BRIDGE_ADOPT=1) if \
                 it is yours"
                    .to_owned(),
            ));
        }
        let parent = self.directory.parent().unwrap_or(self.directory);
        let date = iso8601((self.options.clock)().wall_ms);
        let date = date.split('T').next().unwrap_or_default();
        let aside = (1..=MOST_ASIDE)
            .map(|count| match count {
                1 => format!("bridge.foreign-{date}"),
                _ => format!("bridge.foreign-{date}-{count}"),
            })
            .map(|name| parent.join(name))
            .find(|aside| aside.symlink_metadata().is_err());
        let Some(aside) = aside else {
            return Err(self.refused(format!(
                "it was not created here, and {MOST_ASIDE} others were set aside today: remove \
                    `.claude/bridge.foreign-{date}*`"
            )));
        };
        std::fs::rename(self.directory, &aside)
            .and_then(|()| RealDisk.sync_directory(parent))
            .map_err(|error| failed("set aside", self.directory, error))?;
        tracing::warn!(
            "the bus in {} was not created here (it came with a copy or a clone, or an older \
             version made it), so its contents are not trusted. It was set aside as {}, and a new \
             bus was started. If it is yours, end all sessions, move it back, and start once with \
             --adopt",
            self.directory.shown(),
            aside.shown()
        );
        if let Some(project) = parent.parent()
            && let Err(error) = git_exclude::from_git(project, &aside)
        {
            tracing::warn!(%error, "failed to exclude the bus that was set aside from git");
        }
        let name = aside.file_name().unwrap_or_default();
        Ok(name.to_string_lossy().into_owned())
    }

    /// Says whether any session holds its presence. A file that is not ours counts as free.
    fn is_in_use(&self) -> Result<bool, LogError> {
        let presences = self.directory.join("presence");
        let names = names_in_part(&presences, self.disk.list(&presences))?;
        let mut paths = names.iter().map(|name| presences.join(name));
        Ok(paths.any(|path| LifeLock::is_held(&path).unwrap_or(false)))
    }

    pub(super) fn counterparts(&self) -> Result<StateDirectory, Unprovable> {
        let state = self.proof.state.as_ref();
        let state = state.ok_or(Unprovable {
            why: "there is no directory for the record of where it was created",
            remedy: "set HOME or XDG_STATE_HOME to a directory of yours that lasts; where there is none, as in a container, start with \
                     --adopt (or BRIDGE_ADOPT=1)",
        })?;
        Ok(state.inner(COUNTERPARTS))
    }

    pub(super) fn refused(&self, reason: String) -> LogError {
        LogError::Refused { path: self.directory.to_owned(), reason }
    }
}

impl fmt::Display for Unprovable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { why, remedy } = self;
        write!(formatter, "{why}; {remedy}")
    }
}

/// Returns the name of a counterpart. A copy has the same id and another inode.
pub(super) fn name(bus: Uuid, site: &Site) -> String {
    format!("{bus}-{}.json", site.inode)
}
