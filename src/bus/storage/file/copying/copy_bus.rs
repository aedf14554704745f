//! The two copies: from files to a server, and back. Both compare all lines on both sides before the bus changes.
//!
//! A kill at any moment leaves the bus what it was, or what it is to become, and the same copy once more ends what was begun. Nobody
//! else joins a team before its bus has become it.

use std::collections::BTreeSet;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::history_to_copy::{HistoryToCopy, Tally, Tallying, ToCopy};
use crate::bus::storage::file::Proof;
use crate::bus::storage::file::origin::pending_change::{KeeperChange, LeftTeam};
use crate::bus::storage::postgres::{CopiedLine, IncomingTeam, Leaving, close_team, each_line_of};
use crate::bus::storage::{LogError, OrderedBy};
use crate::sys::process;

/// The lines that are sent at once: about a megabyte, or these many.
const BITE_BYTES: usize = 1024 * 1024;
const BITE_LINES: usize = 1_024;

/// What a copy yields.
#[derive(Debug)]
pub enum Copying {
    /// No bus yet.
    Absent,
    /// A bus that was not created here. It was not read.
    Foreign,
    Done(Copied),
    Not(NotCopied),
}

/// What was copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The number of the last event.
    pub events: u64,
    pub lines: u64,
    /// Long texts, and how many of these were missing before.
    pub texts: u64,
    pub missing_texts: u64,
    /// SHA-256 over all lines: the same on both sides.
    pub hash: Vec<u8>,
    /// The team on the server that the bus has become, or was.
    pub order: OrderedBy,
}

/// Why nothing was copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotCopied {
    /// These members live here.
    InUse(Vec<String>),
    /// These other machines are at work in the team.
    MachinesAtWork(Vec<String>),
    /// The bus is another team's mirror.
    IsMirror(OrderedBy),
    /// The bus is in files already.
    IsInFiles,
    /// The lines are not the same on both sides.
    Differs { here: u64, there: u64 },
    /// The server has lines by now that are not here.
    Behind,
    /// The bus is in files again, but its team has gone on without it on the server since.
    Parted(OrderedBy),
}

/// Copies a bus in files into a new team on a server, which then keeps its order.
pub fn to_server(
    directory: &Path,
    proof: &Proof,
    server: &str,
    team: &str,
) -> Result<Copying, LogError> {
    let mut history = match HistoryToCopy::lock(directory, proof)? {
        ToCopy::Absent => return Ok(Copying::Absent),
        ToCopy::Foreign => return Ok(Copying::Foreign),
        ToCopy::InUse(members) => return Ok(Copying::Not(NotCopied::InUse(members))),
        ToCopy::Ready(history) => *history,
    };
    history.settle_keeper()?;
    let bus = history.bus();
    if let Some(order) = history.order().cloned() {
        if (order.server.as_str(), order.team.as_str()) != (server, team) {
            return Ok(Copying::Not(NotCopied::IsMirror(order)));
        }
        // A copy before this one was interrupted when the bus had become the team.
        if let Some(incoming) = IncomingTeam::of(&order, bus)? {
            incoming.end()?;
        }
        let (here, texts) = tally(&mut history)?;
        return Ok(Copying::Done(texts.copied(&history, here, order)));
    }
    if let Some(left) = history.left_team()? {
        // It was copied into files before, and may begin another team now.
        end_left_team(&history, &left)?;
    }
    let mut incoming = IncomingTeam::begin(server, team, bus, &process::host_name())?;
    let (here, texts) = send(&mut history, &mut incoming)?;
    let mut tallying = Tallying::default();
    incoming.each_line(&mut |line| tallying.add(line))?;
    let there = tallying.end();
    if here != there {
        let differs = NotCopied::Differs { here: here.lines, there: there.lines };
        return Ok(Copying::Not(differs));
    }
    let (next_seq, last) = history.end();
    incoming.complete(next_seq, last)?;
    let order = incoming.order().clone();
    history.change_keeper(KeeperChange { to: Some(order.clone()), left: None })?;
    incoming.end()?;
    Ok(Copying::Done(texts.copied(&history, here, order)))
}

/// Sends what the server does not have. Returns how much there is here.
fn send(
    history: &mut HistoryToCopy<'_>,
    incoming: &mut IncomingTeam,
) -> Result<(Tally, Texts), LogError> {
    let last_sent = incoming.last_seq()?.unwrap_or(0);
    let (mut bite, mut bytes, mut texts) = (Vec::new(), 0, Texts::default());
    let here = history.each_line(&mut |file, entry, line| {
        let is_new = entry.seq > last_sent;
        let mut named = Vec::new();
        for (id, text) in file.of(entry)? {
            texts.count(id, text.is_some());
            let Some(text) = text else { continue };
            named.push(id);
            if is_new && incoming.put_text(id, &text)? != *Sha256::digest(&text) {
                let stored = text.len() as u64;
                return Err(LogError::DamagedText { found: 0, stored });
            }
        }
        if is_new {
            bytes += line.len();
            let (seq, command) = (entry.seq, entry.id);
            bite.push(CopiedLine { seq, command, bytes: line.to_vec(), texts: named });
            if bytes >= BITE_BYTES || bite.len() >= BITE_LINES {
                incoming.put_lines(&std::mem::take(&mut bite))?;
                bytes = 0;
            }
        }
        Ok(())
    })?;
    if !bite.is_empty() {
        incoming.put_lines(&bite)?;
    }
    Ok((here, texts))
}

/// Makes a bus whose order a server keeps one in files again. The caller has brought it up to date.
pub fn to_files(directory: &Path, proof: &Proof) -> Result<Copying, LogError> {
    let mut history = match HistoryToCopy::lock(directory, proof)? {
        ToCopy::Absent => return Ok(Copying::Absent),
        ToCopy::Foreign => return Ok(Copying::Foreign),
        ToCopy::InUse(members) => return Ok(Copying::Not(NotCopied::InUse(members))),
        ToCopy::Ready(history) => *history,
    };
    history.settle_keeper()?;
    let (here, texts) = tally(&mut history)?;
    let Some(order) = history.order().cloned() else {
        let Some(left) = history.left_team()? else {
            return Ok(Copying::Not(NotCopied::IsInFiles));
        };
        return Ok(if end_left_team(&history, &left)? {
            Copying::Done(texts.copied(&history, here, left.order))
        } else {
            Copying::Not(NotCopied::Parted(left.order))
        });
    };
    let mut tallying = Tallying::default();
    each_line_of(&order, &mut |line| tallying.add(line))?;
    let there = tallying.end();
    if here != there {
        let differs = NotCopied::Differs { here: here.lines, there: there.lines };
        return Ok(Copying::Not(differs));
    }
    let next_seq = history.end().0;
    let left = LeftTeam { order: order.clone(), next_seq };
    let change = KeeperChange { to: None, left: Some(left) };
    let take_over = || history.change_keeper(change.clone());
    let host = process::host_name();
    match close_team(&order, next_seq, history.host(), &host, &take_over)? {
        Leaving::Behind | Leaving::HasEnded => return Ok(Copying::Not(NotCopied::Behind)),
        Leaving::InUse(machines) => return Ok(Copying::Not(NotCopied::MachinesAtWork(machines))),
        Leaving::Done => history.forget_left_team()?,
    }
    Ok(Copying::Done(texts.copied(&history, here, order)))
}

/// Counts all lines and long texts of a history.
fn tally(history: &mut HistoryToCopy<'_>) -> Result<(Tally, Texts), LogError> {
    let mut texts = Texts::default();
    let lines = history.each_line(&mut |file, entry, _| {
        for (id, text) in file.of(entry)? {
            texts.count(id, text.is_some());
        }
        Ok(())
    })?;
    Ok((lines, texts))
}

/// Ends the team on its server that the bus has left. Says whether it has ended where the files went on.
fn end_left_team(history: &HistoryToCopy<'_>, left: &LeftTeam) -> Result<bool, LogError> {
    let host = process::host_name();
    let ended = close_team(&left.order, left.next_seq, None, &host, &|| Ok(()))?;
    if matches!(ended, Leaving::InUse(_)) {
        return Ok(false);
    }
    history.forget_left_team()?;
    Ok(matches!(ended, Leaving::Done | Leaving::HasEnded))
}

/// The long texts of a history.
#[derive(Default)]
struct Texts {
    present: BTreeSet<uuid::Uuid>,
    missing: BTreeSet<uuid::Uuid>,
}

impl Texts {
    fn count(&mut self, id: uuid::Uuid, is_there: bool) {
        let texts = if is_there { &mut self.present } else { &mut self.missing };
        texts.insert(id);
    }

    fn copied(&self, history: &HistoryToCopy<'_>, here: Tally, order: OrderedBy) -> Copied {
        Copied {
            events: history.end().0 - 1,
            lines: here.lines,
            texts: self.present.len() as u64,
            missing_texts: self.missing.len() as u64,
            hash: here.hash,
            order,
        }
    }
}
