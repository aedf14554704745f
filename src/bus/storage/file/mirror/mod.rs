//! The mirror of a log whose order a [`Sequencer`] keeps: the same files, with the same lines.
//!
//! The holder of the write lock decides, asks the sequencer, and writes what has its place by then. So the mirror never holds a line that
//! the order does not have, and all mirrors of a team hold the same lines.

mod host_file;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use uuid::Uuid;

use self::host_file::HostFile;
use super::FileLog;
use super::log::line_format::{self, Decoded};
use crate::bus::event::{Body, Entry};
use crate::bus::storage::file::bus_json;
use crate::bus::storage::postgres::PostgresOrder;
use crate::bus::storage::{
    Decide, Log as _, LogError, Mirror, Proposed, ProposedLine, Replica, SequencedLine, Sequencer,
    Verdict,
};
use crate::domain::host::{Host, HostId};
use crate::domain::time::{Now, Tick};
use crate::sys::fs::disk::Disk;
use crate::sys::fs::file_lock::Guard;

/// What makes a log in files the mirror of another one.
pub(crate) struct MirrorParts {
    pub(super) sequencer: Arc<dyn Sequencer>,
    epoch: u32,
    host: HostFile,
    directory: PathBuf,
    /// The turn to write, while a line gets its place.
    turn: Option<Guard>,
}

impl MirrorParts {
    /// Returns them for a bus that is a mirror. It connects to no server.
    pub(super) fn of(disk: &dyn Disk, directory: &Path) -> Result<Option<Self>, LogError> {
        let Some(order) = bus_json::order(disk, directory) else {
            return Ok(None);
        };
        let sequencer = Arc::new(PostgresOrder::of(&order)?);
        let host = HostFile::load(directory)?;
        let (epoch, directory) = (epoch(order.epoch), directory.to_owned());
        Ok(Some(Self { sequencer, epoch, host, directory, turn: None }))
    }

    pub(super) fn host(&self) -> Host {
        self.host.now.clone()
    }

    pub(super) fn was_here(&self, host: HostId) -> bool {
        self.host.was.contains(&host)
    }

    /// Returns the time of the team. Before the server has said it, the machine's wall clock stands for it: no line is written by then.
    pub(super) fn time(&self, here: Now) -> Now {
        let wall = Tick { boot: self.epoch, ms: u64::try_from(here.wall_ms).unwrap_or_default() };
        let tick = self.sequencer.tick().map_or(wall, |tick| Tick { boot: self.epoch, ..tick });
        Now { wall_ms: i64::try_from(tick.ms).unwrap_or(i64::MAX), tick }
    }
}

/// Returns the number that stands for the boot in the times of a team.
fn epoch(id: Uuid) -> u32 {
    crc32fast::hash(id.as_bytes())
}

impl Mirror for FileLog {
    fn hold_turn(&mut self, is_held: bool) -> Result<bool, LogError> {
        let turn = if is_held { self.try_lock()? } else { None };
        let has_it = turn.is_some();
        if let Some(mirror) = &mut self.mirror {
            mirror.turn = turn;
        }
        Ok(has_it)
    }

    fn propose(
        &mut self,
        replica: &mut Replica,
        decide: &mut Decide<'_>,
    ) -> Result<Proposed, LogError> {
        self.read_locked(replica, usize::MAX)?;
        let now = self.now();
        let proposal = match decide(replica, now) {
            Verdict::Refused => return Ok(Proposed::Refused),
            Verdict::Nothing => return Ok(Proposed::Nothing),
            Verdict::Append(proposal) => proposal,
        };
        let seq = self.next_seq(replica);
        let prepared = super::log::append::prepare(seq, now, proposal, &self.directory)?;
        let texts = long_texts_of(&prepared.entry);
        Ok(Proposed::Line(ProposedLine {
            seq,
            next_seq: prepared.entry.next_seq(),
            after: replica.state.last_command(),
            command: prepared.entry.id,
            bytes: prepared.line,
            texts,
        }))
    }

    fn take(
        &mut self,
        replica: &mut Replica,
        lines: &[SequencedLine],
    ) -> Result<Vec<Entry>, LogError> {
        let mut taken = Vec::new();
        let mut unfinished = self.read_locked(replica, usize::MAX)?.unfinished;
        for line in lines {
            let next_seq = self.next_seq(replica);
            // Another process of this machine has it already.
            if line.seq < next_seq {
                continue;
            }
            let text = line.bytes.strip_suffix(b"\n").unwrap_or(&line.bytes);
            let entry = match line_format::decode(text) {
                Decoded::Entry { entry, .. } if entry.seq == next_seq => entry,
                Decoded::Newer => return Err(LogError::Newer),
                Decoded::Entry { .. } | Decoded::Damaged => {
                    return Err(LogError::OutOfOrder { seq: line.seq, expected: next_seq });
                }
            };
            self.write_sequenced(replica, (&entry, &line.bytes), unfinished)?;
            unfinished = 0;
            taken.push(entry);
        }
        Ok(taken)
    }

    fn has_text(&self, id: Uuid) -> bool {
        self.part("blobs", &id.to_string()).exists()
    }

    fn begin_anew(&mut self) -> Result<(), LogError> {
        match &mut self.mirror {
            Some(mirror) => mirror.host.begin_anew(&mirror.directory),
            None => Ok(()),
        }
    }
}

/// Returns the long texts that an entry names.
fn long_texts_of(entry: &Entry) -> Vec<Uuid> {
    let bodies = entry.events.iter().flat_map(|event| event.bodies());
    let ids: BTreeSet<_> = bodies
        .filter_map(|body| match body {
            Body::Blob { id, .. } => Some(*id),
            Body::Text(_) => None,
        })
        .collect();
    ids.into_iter().collect()
}
