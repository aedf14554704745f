//! The history of a bus as it is to be copied: locked, so that nobody joins or writes meanwhile, and read line by line.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::bus::event::Entry;
use crate::bus::state::State;
use crate::bus::storage::file::io_failure::failed;
use crate::bus::storage::file::log::line_format::{self, Decoded};
use crate::bus::storage::file::mirror::mirror_files;
use crate::bus::storage::file::mirror::mirror_log::long_texts_of;
use crate::bus::storage::file::open_to_read::{Opened, open};
use crate::bus::storage::file::origin::bus_origin::Opening;
use crate::bus::storage::file::origin::pending_change::{KeeperChange, LeftTeam};
use crate::bus::storage::file::upkeep::history_lines::{self, HistoryLine};
use crate::bus::storage::file::{FileLog, Proof, bus_json};
use crate::bus::storage::{Log as _, LogError, OrderedBy, Replica};
use crate::domain::ids::{CommandId, SessionId};
use crate::domain::member::HostId;
use crate::sys::fs::disk::{Disk, RealDisk};
use crate::sys::fs::file_lock::{Guard, LifeLock};

/// A history that is locked for a copy.
pub(super) struct HistoryToCopy<'a> {
    log: FileLog,
    replica: Replica,
    bus: Uuid,
    directory: &'a Path,
    proof: &'a Proof,
    /// The turn to write, which nobody else gets meanwhile.
    guard: Guard,
}

/// What is in the directory of a bus that is to be copied.
pub(super) enum ToCopy<'a> {
    Absent,
    Foreign,
    /// These members live.
    InUse(Vec<String>),
    Ready(Box<HistoryToCopy<'a>>),
}

/// How much there is, and a hash over all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) lines: u64,
    pub(super) hash: Vec<u8>,
}

/// A count of lines with their hash.
#[derive(Default)]
pub(super) struct Tallying {
    lines: u64,
    hash: Sha256,
}

impl Tallying {
    /// Takes in a whole line, with its newline.
    pub(super) fn add(&mut self, line: &[u8]) {
        self.lines += 1;
        self.hash.update(line);
    }

    pub(super) fn end(self) -> Tally {
        Tally { lines: self.lines, hash: self.hash.finalize().to_vec() }
    }
}

/// Called with each line: with the long texts, the entry, and the bytes with their newline.
pub(super) type OnLine<'a> = dyn FnMut(&FileTexts<'_>, &Entry, &[u8]) -> Result<(), LogError> + 'a;

impl<'a> HistoryToCopy<'a> {
    /// Locks the bus in a directory, unless a member lives.
    pub(super) fn lock(directory: &'a Path, proof: &'a Proof) -> Result<ToCopy<'a>, LogError> {
        let mut log = match open(directory, proof)? {
            Opened::Absent => return Ok(ToCopy::Absent),
            Opened::Foreign => return Ok(ToCopy::Foreign),
            Opened::Log(log) => *log,
        };
        let bus = bus_json::load(&*log.disk, directory)?.ok_or(LogError::Removed)?;
        let mut replica = log.load()?;
        let guard = log.lock.acquire(log.options.patience);
        let guard = guard.map_err(|error| failed("lock", directory, error))?;
        let Some(guard) = guard else {
            return Err(LogError::Busy { holder: log.lock.queue().holder() });
        };
        if !log.lock.is_in_place() {
            return Err(LogError::Removed);
        }
        log.read_locked(&mut replica, usize::MAX)?;
        if replica.skipped_events {
            return Err(LogError::Newer);
        }
        let live = live_members(directory, &replica.state)?;
        if !live.is_empty() {
            return Ok(ToCopy::InUse(live));
        }
        Ok(ToCopy::Ready(Box::new(Self { log, replica, bus, directory, proof, guard })))
    }

    pub(super) fn bus(&self) -> Uuid {
        self.bus
    }

    /// Returns who keeps the order, if it is a server.
    pub(super) fn order(&self) -> Option<&OrderedBy> {
        self.log.order()
    }

    pub(super) fn host(&self) -> Option<HostId> {
        self.log.host().map(|host| host.id)
    }

    /// Returns the seq of the next event, and the command of the last line.
    pub(super) fn end(&self) -> (u64, Option<CommandId>) {
        (self.replica.next_seq.max(1), self.replica.state.last_command())
    }

    /// Passes each line to a function, with its newline. Says how much that was.
    pub(super) fn each_line(&mut self, take: &mut OnLine<'_>) -> Result<Tally, LogError> {
        let (disk, blobs) = (Arc::clone(&self.log.disk), self.log.part("blobs", ""));
        let texts = FileTexts { disk: &*disk, directory: &blobs };
        let mut tallying = Tallying::default();
        let (mut next_seq, mut bytes) = (1, Vec::new());
        let refused = |reason: &str| LogError::Refused {
            path: self.directory.to_owned(),
            reason: reason.to_owned(),
        };
        history_lines::walk(&mut self.log.segments, &mut |_, line| {
            let line = match line {
                HistoryLine::Whole(line) => line,
                HistoryLine::Unfinished(_) => return Ok(()),
                HistoryLine::Damaged(_) => return Err(refused(DAMAGED)),
                HistoryLine::Removed => return Err(LogError::Removed),
            };
            let (entry, count) = match line_format::decode(line) {
                Decoded::Entry { entry, count, .. } => (entry, count),
                Decoded::Damaged => return Err(refused(DAMAGED)),
                Decoded::Newer => return Err(LogError::Newer),
            };
            // A segment in the place of one that could not be synced begins with a copy of its lines.
            if entry.seq < next_seq {
                return Ok(());
            }
            if entry.seq > next_seq {
                return Err(refused(if next_seq == 1 { PRUNED } else { DAMAGED }));
            }
            next_seq = entry.seq.saturating_add(count);
            bytes.clear();
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
            tallying.add(&bytes);
            take(&texts, &entry, &bytes)
        })?;
        if next_seq != self.end().0 {
            return Err(refused(DAMAGED));
        }
        Ok(tallying.end())
    }

    /// Makes another the keeper of the order, and opens the bus for others again.
    pub(super) fn change_keeper(&self, change: KeeperChange) -> Result<(), LogError> {
        let is_to_files = change.to.is_none();
        let guard = self.opening().change_keeper(change)?;
        if is_to_files {
            for name in mirror_files::FILES {
                // What is left over does nothing.
                let _ = fs::remove_file(self.directory.join(name));
            }
        }
        drop(guard);
        Ok(())
    }

    /// Ends a change of the keeper that was interrupted.
    pub(super) fn settle_keeper(&mut self) -> Result<(), LogError> {
        if let Some(guard) = self.opening().settle_keeper()? {
            self.guard = guard;
        }
        Ok(())
    }

    pub(super) fn left_team(&self) -> Result<Option<LeftTeam>, LogError> {
        self.opening().left_team()
    }

    pub(super) fn forget_left_team(&self) -> Result<(), LogError> {
        self.opening().forget_left_team()
    }

    fn opening(&self) -> Opening<'_> {
        let (directory, proof, options) = (self.directory, self.proof, &self.log.options);
        Opening { directory, disk: &RealDisk, options, proof }
    }
}

/// The long texts of a bus in files.
pub(super) struct FileTexts<'a> {
    disk: &'a dyn Disk,
    directory: &'a Path,
}

impl FileTexts<'_> {
    /// Returns the long texts that an entry names; none in the place of one that is not there.
    pub(super) fn of(&self, entry: &Entry) -> Result<Vec<(Uuid, Option<String>)>, LogError> {
        let texts = long_texts_of(entry).into_iter().map(|id| {
            let path = self.directory.join(id.to_string());
            match crate::bus::storage::file::long_texts::read(self.disk, &path) {
                Err(LogError::Gone) => Ok((id, None)),
                text => Ok((id, Some(text?))),
            }
        });
        texts.collect()
    }
}

const DAMAGED: &str = "a line of its log is damaged, and a damaged log is not copied: `cli-team-bridge bus verify` says which line";

const PRUNED: &str = "the oldest part of its log was removed, as old history is after a time, and another machine could not begin without \
                      it: such a bus is not copied yet";

/// Returns the names of the members whose presence is held.
fn live_members(directory: &Path, state: &State) -> Result<Vec<String>, LogError> {
    let presences = directory.join("presence");
    let entries = match fs::read_dir(&presences) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|error| failed("list", &presences, error))?,
    };
    let held = entries.flatten().filter(|file| LifeLock::is_held(&file.path()).unwrap_or(true));
    let names: BTreeSet<String> = held
        .map(|file| {
            let session = file.file_name().to_str().and_then(|name| name.parse().ok());
            let session = session.and_then(|id| state.session(SessionId(id)));
            session.map_or("a session that is just joining".to_owned(), |session| {
                session.name.to_string()
            })
        })
        .collect();
    Ok(names.into_iter().collect())
}
