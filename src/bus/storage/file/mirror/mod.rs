//! The mirror of a log whose order a [`Sequencer`](crate::bus::storage::Sequencer) keeps: the same files, with the same lines.
//!
//! The holder of the write lock decides, asks the sequencer, and writes what has its place by then. So the mirror never holds a line that
//! the order does not have, and all mirrors of a team hold the same bytes at the same positions.

use std::collections::BTreeSet;

use super::FileLog;
use super::log::line_format::{self, Decoded};
use crate::bus::event::{Body, Entry};
use crate::bus::storage::{
    Decide, LogError, Mirror, ProposedLine, Proposed, Replica, SequencedLine, Verdict,
};

impl Mirror for FileLog {
    fn hold_turn(&mut self, is_held: bool) -> Result<bool, LogError> {
        self.turn = if is_held { self.try_lock()? } else { None };
        Ok(self.turn.is_some())
    }

    fn propose(
        &mut self,
        replica: &mut Replica,
        decide: &mut Decide<'_>,
    ) -> Result<Proposed, LogError> {
        self.read_locked(replica, usize::MAX)?;
        let now = (self.options.clock)();
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

    fn has_text(&self, id: uuid::Uuid) -> bool {
        self.part("blobs", &id.to_string()).exists()
    }
}

/// Returns the long texts that an entry names.
fn long_texts_of(entry: &Entry) -> Vec<uuid::Uuid> {
    let bodies = entry.events.iter().flat_map(|event| event.bodies());
    let ids: BTreeSet<_> = bodies
        .filter_map(|body| match body {
            Body::Blob { id, .. } => Some(*id),
            Body::Text(_) => None,
        })
        .collect();
    ids.into_iter().collect()
}
