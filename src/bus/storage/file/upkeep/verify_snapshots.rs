//! Verifies the snapshots of a bus: each is readable, and has the state that the log yields at its seq.
//!
//! The log is replayed from its beginning or, once retention has removed that, from the oldest readable snapshot.

use std::io;

use uuid::Uuid;

use super::bus_finding::{BusFinding, BusReport, FindingKind};
use crate::bus::event::{Entry, LogPosition};
use crate::bus::storage::file::FileLog;
use crate::bus::storage::file::io_failure::failed;
use crate::bus::storage::file::log::snapshot::{self, Decoded};
use crate::bus::storage::format_versions::SNAPSHOT_LEVEL;
use crate::bus::storage::{LogError, Replica};

/// The most snapshots that are held in memory at once: two are kept, and a third may just be written.
const MOST_SNAPSHOTS: usize = 4;

/// A readable snapshot.
struct Snapshot {
    file: String,
    replica: Replica,
    /// Why it cannot be compared, if it cannot.
    not_comparable: Option<&'static str>,
}

/// The snapshots that wait to be compared, and the replay of the log.
pub(super) struct Replay {
    /// Oldest first.
    pending: Vec<Snapshot>,
    /// The state at the current line; none if the log cannot be replayed to it.
    replica: Option<Replica>,
    /// Why later states cannot be compared, if they cannot.
    uncertain: Option<&'static str>,
    compared: u64,
}

impl Replay {
    /// Reads the snapshots, and begins the replay.
    pub(super) fn begin(
        log: &FileLog,
        bus: Uuid,
        report: &mut BusReport,
    ) -> Result<Self, LogError> {
        let directory = log.directory.join("snapshot");
        let paths = snapshot::paths(&*log.disk, &directory)
            .map_err(|error| failed("list", &directory, error))?;
        report.snapshots = paths.len() as u64;
        let mut pending = Vec::new();
        for path in paths.into_iter().take(MOST_SNAPSHOTS) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let file = format!("snapshot/{name}");
            let bytes = match log.disk.read(&path) {
                Ok(bytes) => bytes,
                // A newer one has replaced it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    let what = format!("it cannot be read: {error}");
                    report.add(BusFinding::problem(FindingKind::DamagedSnapshot, file, what));
                    continue;
                }
            };
            match snapshot::decode(&bytes, bus) {
                Decoded::Usable(replica) => {
                    let level = snapshot::level(&bytes);
                    let not_comparable = (level != Some(SNAPSHOT_LEVEL))
                        .then_some("another version of cli-team-bridge wrote it");
                    pending.push(Snapshot { file, replica: *replica, not_comparable });
                }
                Decoded::Newer => return Err(LogError::Newer),
                Decoded::Damaged => report.add(damaged(file)),
            }
        }
        pending.reverse();
        let replica = log.segments.has_beginning().then(Replica::default);
        Ok(Self { pending, replica, uncertain: None, compared: 0 })
    }

    /// Says whether there is a state from which the log continues.
    pub(super) fn has_start(&self) -> bool {
        self.replica.is_some() || !self.pending.is_empty()
    }

    /// Notes that the replay lacks something that a snapshot may have.
    pub(super) fn lacks(&mut self, why: &'static str) {
        self.uncertain.get_or_insert(why);
    }

    /// Applies a line to the state.
    pub(super) fn apply(
        &mut self,
        place: LogPosition,
        entry: &Entry,
        (indices, count): (&[u16], u64),
        report: &mut BusReport,
    ) {
        self.compare_before(entry.seq, report);
        if self.replica.is_none() {
            // The oldest snapshot stands for what retention has removed.
            let is_next = |snapshot: &Snapshot| snapshot.replica.next_seq <= entry.seq;
            if !self.pending.first().is_some_and(is_next) {
                return;
            }
            let first = self.pending.remove(0);
            self.replica = Some(first.replica);
        }
        let Some(replica) = self.replica.as_mut().filter(|replica| entry.seq >= replica.next_seq)
        else {
            return;
        };
        replica.state.apply(entry, indices, place);
        replica.next_seq = entry.seq.saturating_add(count);
        if (indices.len() as u64) < count {
            self.lacks("a newer version wrote events that this one skips");
        }
    }

    /// Compares the snapshots that end before a seq.
    fn compare_before(&mut self, seq: u64, report: &mut BusReport) {
        let Some(replica) = &self.replica else { return };
        while self.pending.first().is_some_and(|first| first.replica.next_seq <= seq) {
            let snapshot = self.pending.remove(0);
            let why = snapshot.not_comparable.or(self.uncertain);
            if let Some(why) = why {
                let what = format!("its state was not compared with the log: {why}");
                report.add(BusFinding::note(FindingKind::NotCompared, snapshot.file, what));
            } else if snapshot.replica.state == replica.state {
                self.compared += 1;
            } else {
                report.add(differing(snapshot.file));
            }
        }
    }

    /// Compares the rest of the snapshots with the state at the end of the log. Returns that state.
    pub(super) fn end(mut self, report: &mut BusReport) -> Option<Replica> {
        if self.replica.is_none() && !self.pending.is_empty() {
            // No line follows the oldest snapshot.
            self.replica = Some(self.pending.remove(0).replica);
        }
        let end = self.replica.as_ref().map_or(0, |replica| replica.next_seq);
        self.compare_before(end.max(1), report);
        for ahead in std::mem::take(&mut self.pending) {
            if self.uncertain.is_none() {
                report.add(ahead_of_log(ahead.file, end, ahead.replica.next_seq));
            }
        }
        report.snapshots_compared = self.compared;
        self.replica
    }
}

fn damaged(file: String) -> BusFinding {
    BusFinding::problem(FindingKind::DamagedSnapshot, file, "its checksum does not fit")
        .lost("nothing, as long as the other snapshot or the whole log can be read")
        .remedy("let the team work: the bridge reads another one, and replaces this one later")
}

fn differing(file: String) -> BusFinding {
    let what = "its state is not the one that the log yields";
    BusFinding::problem(FindingKind::SnapshotDiffers, file, what)
        .lost("sessions that begin with it may see other members, messages or tasks than the rest")
        .remedy(
            "end all sessions and keep a copy of the bus for a report; while the log has its \
             first file, the snapshots may be removed",
        )
}

fn ahead_of_log(file: String, end: u64, next_seq: u64) -> BusFinding {
    let what = "it has events that the log does not have";
    BusFinding::problem(FindingKind::SnapshotAhead, file, what)
        .lost(format!(
            "the texts of the events from {end} to {}; the state still has what they did",
            next_seq.saturating_sub(1)
        ))
        .remedy("restore the files of `log/` from a copy, or let the team work on without them")
}
