//! A change of who keeps the order of a bus, a server or the files themselves, in its directory and in the user's record of it.
//!
//! The record says first what is about to change, then `bus.json` changes in one step, then the record: whichever step a crash follows,
//! the bus is its own, and is what `bus.json` says. The lock of the bus is replaced before and after that step, so whoever has opened
//! the bus as what it was finds it removed, and opens it anew.

use std::io;

use uuid::Uuid;

use super::bus_origin::{Counterpart, Opening, name};
use super::pending_change::{KeeperChange, LeftTeam};
use crate::bus::storage::LogError;
use crate::bus::storage::file::bus_json;
use crate::bus::storage::file::io_failure::failed;
use crate::sys::fs::disk::{Disk as _, RealDisk};
use crate::sys::fs::file_lock::{Guard, LockFile};

/// The next lock file, until it has its name.
const NEXT_LOCK: &str = ".lock.tmp";

impl Opening<'_> {
    /// Makes another the keeper of the order, for the holder of the lock. Returns the lock that is held by then in its place.
    pub(crate) fn change_keeper(&self, change: KeeperChange) -> Result<Guard, LogError> {
        let (bus, before) = self.recorded()?;
        let to = change.to.clone();
        let kept = change.left.is_some().then(|| change.clone());
        self.record(bus, &Counterpart { change: Some(change), ..before })?;
        let _closed = self.replace_lock()?;
        bus_json::change_keeper(self.disk, self.directory, to.clone())?;
        let guard = self.replace_lock()?;
        let (bus, changed) = self.recorded()?;
        self.record(bus, &Counterpart { order: to, change: kept, ..changed })?;
        Ok(guard)
    }

    /// Ends a change that a crash has interrupted, for the holder of the lock. Returns the lock that is held by then, if it is another.
    pub(crate) fn settle_keeper(&self) -> Result<Option<Guard>, LogError> {
        let (bus, kept) = self.recorded()?;
        let Some(change) = kept.change.clone() else { return Ok(None) };
        let now = self.header()?.unwrap_or_default().order;
        if change.to != now {
            // The step was not taken, and nothing has changed.
            self.record(bus, &Counterpart { change: None, ..kept })?;
            return Ok(None);
        }
        let guard = self.replace_lock()?;
        let change = change.left.is_some().then_some(change);
        self.record(bus, &Counterpart { order: now, change, ..kept })?;
        Ok(Some(guard))
    }

    /// Returns the team that the bus has left for its files, and that has not ended on its server yet.
    pub(crate) fn left_team(&self) -> Result<Option<LeftTeam>, LogError> {
        Ok(self.recorded()?.1.change.and_then(|change| change.left))
    }

    /// Notes that the team which the bus has left has ended on its server.
    pub(crate) fn forget_left_team(&self) -> Result<(), LogError> {
        let (bus, kept) = self.recorded()?;
        self.record(bus, &Counterpart { change: None, ..kept })
    }

    fn recorded(&self) -> Result<(Uuid, Counterpart), LogError> {
        let known = self.header()?.unwrap_or_default();
        let unknown = || {
            let reason = "there is no record of where it was created: start once with --adopt, where the user's state directory lasts";
            self.refused(reason.to_owned())
        };
        let id = known.id.ok_or_else(unknown)?;
        let counterparts = self.counterparts().map_err(|why| self.refused(why.to_string()))?;
        let text = counterparts.read(&name(id, &self.seen_now()?.site));
        let text = text.map_err(|error| failed("read the record of", self.directory, error))?;
        let kept = text.and_then(|text| serde_json::from_slice::<Counterpart>(&text).ok());
        let kept = kept.filter(|kept| Some(&kept.secret) == known.secret.as_ref());
        Ok((id, kept.ok_or_else(unknown)?))
    }

    fn record(&self, bus: Uuid, counterpart: &Counterpart) -> Result<(), LogError> {
        let written = |error: io::Error| failed("write the record of", self.directory, error);
        let text = serde_json::to_vec(counterpart).map_err(|error| written(error.into()))?;
        let counterparts = self.counterparts().map_err(|why| self.refused(why.to_string()))?;
        counterparts.write(&name(bus, &self.seen_now()?.site), &text).map_err(written)
    }

    /// Puts another lock file, which is held, in the place of the one that the caller holds.
    fn replace_lock(&self) -> Result<Guard, LogError> {
        let (path, next) = (self.directory.join("lock"), self.directory.join(NEXT_LOCK));
        let replaced = || -> io::Result<Option<Guard>> {
            let Some(guard) = LockFile::open(&next)?.try_acquire()? else { return Ok(None) };
            std::fs::rename(&next, &path)?;
            RealDisk.sync_directory(self.directory)?;
            Ok(Some(guard))
        };
        let guard = replaced().map_err(|error| failed("replace", &path, error))?;
        guard.ok_or_else(|| LogError::Busy { holder: "another process".to_owned() })
    }
}
