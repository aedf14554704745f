//! A log in files as a mirror: what comes next, and writing what has its place.

use std::collections::BTreeSet;

use uuid::Uuid;

use crate::bus::event::{Body, Entry};
use crate::bus::storage::file::FileLog;
use crate::bus::storage::file::log::append;
use crate::bus::storage::file::log::line_format::{self, Decoded};
use crate::bus::storage::{
    Decide, Log as _, LogError, Mirror, Proposed, ProposedLine, Replica, SequencedLine, Verdict,
};

impl Mirror for FileLog {
    fn hold_turn(&mut self, is_held: bool) -> Result<bool, LogError> {
        let turn = if is_held { self.try_lock()? } else { None };
        let has_it = turn.is_some();
        // Who asks in vain must not end the turn of the thread that has it.
        if has_it == is_held
            && let Some(mirror) = &mut self.mirror
        {
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
        if replica.damaged_lines > 0 {
            // What a damaged line said, the server still knows: deciding without it could give one request two owners.
            let reason = "a line of this machine's copy of the team's log is damaged. End its sessions and move `.claude/bridge` aside: the \
                          next session fetches it whole";
            let path = self.directory.clone();
            return Err(LogError::Refused { path, reason: reason.to_owned() });
        }
        // The clock of the server may be behind that of the files in which the log began, or of a server before.
        let now = replica.state.not_before_log(self.now());
        let proposal = match decide(replica, now) {
            Verdict::Refused => return Ok(Proposed::Refused),
            Verdict::Nothing => return Ok(Proposed::Nothing),
            Verdict::Append(proposal) => proposal,
        };
        let seq = self.next_seq(replica);
        let prepared = append::prepare(seq, now, proposal, &self.directory)?;
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
            Some(mirror) => mirror.begin_anew(),
            None => Ok(()),
        }
    }
}

/// Returns the long texts that an entry names.
pub(in crate::bus::storage::file) fn long_texts_of(entry: &Entry) -> Vec<Uuid> {
    let bodies = entry.events.iter().flat_map(|event| event.bodies());
    let ids: BTreeSet<_> = bodies
        .filter_map(|body| match body {
            Body::Blob { id, .. } => Some(*id),
            Body::Text(_) => None,
        })
        .collect();
    ids.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::bus::storage::OrderedBy;
    use crate::bus::storage::file::{NewOrder, Options};
    use crate::sys::fs::disk::RealDisk;

    fn mirror(directory: &Path) -> FileLog {
        // Nothing here asks the server.
        let server = "host=/nowhere user=bridge dbname=bridge".to_owned();
        let order = OrderedBy { server, team: "team".to_owned(), epoch: Uuid::nil() };
        let options = Options { order: NewOrder::Server(order), ..Options::default() };
        FileLog::open(&directory.join(".claude/bridge"), Arc::new(RealDisk), options).unwrap()
    }

    #[test]
    fn who_asks_for_a_held_turn_in_vain_leaves_it_to_its_holder() {
        let project = tempfile::tempdir().unwrap();
        let (mut one, mut other) = (mirror(project.path()), mirror(project.path()));
        assert!(one.hold_turn(true).unwrap());
        assert!(!one.hold_turn(true).unwrap(), "another thread of its process");
        assert!(!other.hold_turn(true).unwrap(), "another process");
        one.hold_turn(false).unwrap();
        assert!(other.hold_turn(true).unwrap());
    }
}
