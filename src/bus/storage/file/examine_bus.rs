//! Examines a bus from outside, for a report on its health. It does not join, repair or lock the bus, so members at work are not
//! disturbed, and a bus of an older version stays as it is.
//!
//! It reads the whole log, not only the part after the newest snapshot, because older lines may be damaged too. Without the lock a line
//! may be read while it is written, so damage counts only if a second reading finds it again.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::io_failure::failed;
use super::log::line_format::{self, Decoded};
use super::log::segments::{self, Next, RawLine, Scope, Stop};
use super::log::snapshot::{self, Decoded as DecodedSnapshot};
use super::open_to_read::{Opened, open};
use super::{FileLog, Proof, bus_json, wakeup_files};
use crate::bus::event::LogPosition;
use crate::bus::state::State;
use crate::bus::storage::session_standing::standing;
use crate::bus::storage::{Log as _, LogError, OrderedBy};
use crate::domain::ids::SessionId;
use crate::sys::fs::disk;
use crate::sys::fs::file_lock::LifeLock;

/// The most bytes of a log that are examined: a few seconds of reading, and far more than a team writes in the days that are kept.
const MOST_BYTES: usize = 512 * 1024 * 1024;

/// The result of an examination.
pub enum Examined {
    /// No bus yet: the next session that leads or joins creates it.
    Absent,
    /// A bus that was not created here. Its log was not read.
    Foreign,
    Bus(Box<ExaminedBus>),
}

/// A bus of this place.
pub struct ExaminedBus {
    pub segments: usize,
    /// Bytes of the log.
    pub bytes: u64,
    /// Readable lines.
    pub lines: u64,
    /// Damaged lines, each by its file and its first byte.
    pub damaged_lines: Vec<String>,
    /// Whether the log is too long to be read to its end.
    pub is_partly_read: bool,
    /// The files of damaged snapshots.
    pub damaged_snapshots: Vec<String>,
    /// The state that the log yields, or why it yields none.
    pub state: Result<State, LogError>,
    pub presences: Vec<SeenPresence>,
    /// Who keeps the order, if the bus is a mirror.
    pub order: Option<OrderedBy>,
    /// The number of the last event.
    pub last_seq: u64,
    /// Why the system does not report changes of the log, if it does not; then members poll.
    pub no_wakeups: Option<String>,
}

/// The presence of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenPresence {
    pub session: SessionId,
    /// Whether a process holds it.
    pub is_held: bool,
    /// The time of its last sign of life, in nanoseconds since 1970.
    pub beat_ns: Option<i128>,
    /// Whether the session runs on another host. Whether it lives is for that to say, and it counts as held.
    pub is_elsewhere: bool,
}

/// Examines the bus in a directory. An error says why the bus cannot be used, and what to do.
pub fn examine(directory: &Path, proof: &Proof) -> Result<Examined, LogError> {
    let mut log = match open(directory, proof)? {
        Opened::Absent => return Ok(Examined::Absent),
        Opened::Foreign => return Ok(Examined::Foreign),
        Opened::Log(log) => *log,
    };
    let mut walked = walk(&mut log)?;
    if !walked.damaged.is_empty() {
        let again = walk(&mut log)?;
        walked.damaged.retain(|place| again.damaged.contains(place));
    }
    let name = |place: &LogPosition| {
        format!("`log/{}` from byte {}", segments::file_name(place.segment), place.offset)
    };
    let parts = log.parts()?;
    let damaged_snapshots = damaged_snapshots(&log);
    let loaded = log.load();
    let last_seq = loaded.as_ref().map_or(0, |replica| replica.next_seq.saturating_sub(1));
    let state = loaded.map(|replica| replica.state);
    Ok(Examined::Bus(Box::new(ExaminedBus {
        segments: parts.len(),
        bytes: walked.bytes,
        lines: walked.lines,
        damaged_lines: walked.damaged.iter().map(name).collect(),
        is_partly_read: walked.is_partly_read,
        damaged_snapshots,
        presences: presences(&log, state.as_ref().ok())?,
        order: log.order().cloned(),
        last_seq,
        state,
        no_wakeups: wakeup_files::watch_log(&directory.join("log"), Arc::new(|| {}))
            .err()
            .as_ref()
            .map(ToString::to_string),
    })))
}

/// The state of a bus at this moment.
#[derive(Debug)]
pub enum PresentState {
    /// There is no bus.
    Absent,
    /// The bus was not created here, so it is not read.
    Foreign,
    /// The state that the log yields, and the presences of sessions.
    Read(Box<State>, Vec<SeenPresence>),
}

/// Reads the state of the bus in a directory, without examining its files further. Changes nothing.
pub fn read_state(directory: &Path, proof: &Proof) -> Result<PresentState, LogError> {
    match open(directory, proof)? {
        Opened::Absent => Ok(PresentState::Absent),
        Opened::Foreign => Ok(PresentState::Foreign),
        Opened::Log(mut log) => {
            let state = log.load()?.state;
            let presences = presences(&log, Some(&state))?;
            Ok(PresentState::Read(Box::new(state), presences))
        }
    }
}

/// Removes the presences and wakeup files of dead sessions; returns the number of removed presences. Those of sessions that are live
/// according to the log stay: the next session that opens the bus records their end.
pub fn clear_left_presences(directory: &Path, proof: &Proof) -> Result<usize, LogError> {
    let Opened::Log(mut log) = open(directory, proof)? else {
        return Ok(0);
    };
    let state = log.load()?.state;
    let before = presences(&log, None)?.len();
    log.clear_presences(&|session| standing(&state, session))?;
    Ok(before.saturating_sub(presences(&log, None)?.len()))
}

/// The findings of one walk over the whole log.
#[derive(Default)]
struct Walked {
    lines: u64,
    bytes: u64,
    damaged: BTreeSet<LogPosition>,
    is_partly_read: bool,
}

fn walk(log: &mut FileLog) -> Result<Walked, LogError> {
    let mut walked = Walked::default();
    let from = LogPosition::default();
    let end = log.segments.walk(from, MOST_BYTES, Scope::Log, &mut |place, _, line| {
        match line {
            RawLine::Whole(line) => {
                walked.bytes += line.len() as u64 + 1;
                match line_format::decode(line) {
                    Decoded::Entry { .. } => walked.lines += 1,
                    Decoded::Damaged => drop(walked.damaged.insert(place)),
                    Decoded::Newer => return Err(LogError::Newer),
                }
            }
            RawLine::Unreadable(bytes) => {
                walked.bytes += bytes;
                walked.damaged.insert(place);
            }
        }
        Ok(Next::On)
    })?;
    walked.is_partly_read = end.stop == Stop::Limit;
    Ok(walked)
}

fn damaged_snapshots(log: &FileLog) -> Vec<String> {
    let directory = log.directory.join("snapshot");
    let Ok(Some(bus)) = bus_json::load(&*log.disk, &log.directory) else {
        return Vec::new();
    };
    let is_damaged = |path: &PathBuf| match log.disk.read(path) {
        Ok(bytes) => matches!(snapshot::decode(&bytes, bus), DecodedSnapshot::Damaged),
        // A newer snapshot may just have replaced it.
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    };
    let paths = snapshot::paths(&*log.disk, &directory).unwrap_or_default();
    let damaged = paths.into_iter().filter(is_damaged);
    damaged.filter_map(|path| Some(format!("`snapshot/{}`", path.file_name()?.to_str()?))).collect()
}

/// Returns the presences of the sessions of this host, and those of the sessions of others.
fn presences(log: &FileLog, state: Option<&State>) -> Result<Vec<SeenPresence>, LogError> {
    let directory = log.directory.join("presence");
    let entries = match fs::read_dir(&directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|error| failed("list", &directory, error))?,
    };
    let seen = entries.flatten().filter_map(|entry| {
        let session = SessionId(entry.file_name().to_str()?.parse().ok()?);
        let path = entry.path();
        Some(SeenPresence {
            session,
            // A presence that cannot be checked counts as held.
            is_held: LifeLock::is_held(&path).unwrap_or(true),
            beat_ns: disk::touched_ns(&path).ok(),
            is_elsewhere: false,
        })
    });
    let host_of = |id: &SessionId| state.and_then(|state| state.host_of(*id));
    let is_elsewhere = |id: &SessionId| host_of(id).is_some_and(|host| log.is_elsewhere(host));
    let live = state.into_iter().flat_map(State::session_ids).filter(is_elsewhere);
    let elsewhere = live.map(|session| SeenPresence {
        session,
        is_held: true,
        beat_ns: None,
        is_elsewhere: true,
    });
    Ok(seen.chain(elsewhere).collect())
}
