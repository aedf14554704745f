//! Appending to a bus whose order a server keeps: propose, ask the server, write into the mirror what has its place by then.
//!
//! It blocks on the network, so only the bus's own threads do it. Nothing is locked meanwhile but the mirror's write lock, which keeps the
//! other processes of this machine from asking for the same place.
//!
//! An act takes one round trip while nobody else writes. Whoever has lost a race waits for the turn at the server, and is sure of the next
//! place; and as long as others write in between, it asks for the turn at once.

use std::sync::atomic::Ordering;
use std::time::Instant;

use uuid::Uuid;

use crate::bus::error::BusError;
use crate::bus::rules::Command;
use crate::bus::shared::{BusShared, ProposedCommand, Receipt, no_thread};
use crate::bus::storage::{LogError, NextLines, Sequenced, SequencedLine, Sequencer};
use crate::domain::wait_times;

/// Appends a command. The caller has the turn to write among the processes of this machine.
pub(crate) fn append_in_order(
    shared: &BusShared,
    order: &dyn Sequencer,
    command: &Command,
) -> Result<Receipt, BusError> {
    let until = Instant::now() + wait_times::SERVER;
    order.learn_time(until)?;
    shared.in_turn(|| {
        let appended = append_in_turn(shared, order, command, until);
        if appended.is_err() {
            order.let_go(until);
        }
        appended
    })
}

fn append_in_turn(
    shared: &BusShared,
    order: &dyn Sequencer,
    command: &Command,
    until: Instant,
) -> Result<Receipt, BusError> {
    let (mut receipt, mut stored) = (Receipt::default(), Vec::new());
    if shared.is_crowded.load(Ordering::Relaxed) {
        let newer = pull_in_turn(shared, order, until)?;
        shared.is_crowded.store(newer > 0, Ordering::Relaxed);
    }
    loop {
        let outcome = match shared.propose(command)? {
            ProposedCommand::Line(line) => {
                store_texts(shared, order, &line.texts, &mut stored, until)?;
                match order.put(&line, until)? {
                    Sequenced::Accepted => {
                        let is_command = line.command == command.id;
                        let line =
                            SequencedLine { seq: line.seq, bytes: line.bytes, texts: line.texts };
                        receipt.events.extend(shared.take(&[line])?);
                        // Otherwise the line held only due events, and the command comes next.
                        if is_command {
                            return Ok(receipt);
                        }
                        continue;
                    }
                    Sequenced::Behind => None,
                }
            }
            ProposedCommand::Done => Some(Ok(())),
            ProposedCommand::Refused(refusal) => Some(Err(BusError::Refused(refusal))),
        };
        // What was decided holds if nothing newer has its place.
        let newer = match &outcome {
            Some(_) if order.let_go(until) => 0,
            Some(_) => pull(shared, order)?,
            None => {
                shared.is_crowded.store(true, Ordering::Relaxed);
                pull_in_turn(shared, order, until)?
            }
        };
        match outcome {
            Some(outcome) if newer == 0 => {
                outcome?;
                // Its line has its place, though nobody has said so: the acknowledgement was lost.
                receipt.events.extend(shared.events_of_done(command.id)?);
                return Ok(receipt);
            }
            _ if Instant::now() >= until => {
                return Err(LogError::Busy { holder: "other machines".to_owned() }.into());
            }
            _ => {}
        }
    }
}

/// Brings the mirror up to what the server has, if the bus is one.
pub(crate) fn fetch(shared: &BusShared) -> Result<(), BusError> {
    let Some(order) = shared.order.clone() else {
        return Ok(());
    };
    // The caller may be a thread of a runtime, which must not wait for a connection.
    std::thread::scope(|scope| {
        let fetching = std::thread::Builder::new()
            .name("bus-fetch".to_owned())
            .spawn_scoped(scope, || shared.in_turn(|| pull(shared, &*order)).map(drop))
            .map_err(no_thread)?;
        fetching.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Brings the mirror up to what the server has. The caller has the turn to write, and is in it. Returns the number of new lines.
///
/// A long tail has no deadline as a whole, but each part of it.
pub(crate) fn pull(shared: &BusShared, order: &dyn Sequencer) -> Result<usize, BusError> {
    let mut pulled = 0;
    loop {
        let until = Instant::now() + wait_times::SERVER;
        let (seq, after) = shared.end_of_log();
        let NextLines { lines, has_more } = order.lines_from(seq, after, until)?;
        take(shared, order, &lines)?;
        pulled += lines.len();
        if !has_more {
            return Ok(pulled);
        }
    }
}

/// Waits for the turn among all machines, so that the next line that is put gets its place, and brings the mirror up to what the server
/// has. Whoever gets no turn in time is without it. Returns the number of new lines.
///
/// Much is not read in the turn, because all others wait meanwhile, but before another one.
fn pull_in_turn(
    shared: &BusShared,
    order: &dyn Sequencer,
    until: Instant,
) -> Result<usize, BusError> {
    let mut pulled = 0;
    loop {
        let (seq, after) = shared.end_of_log();
        let next = order.take_turn(seq, after, until)?;
        let is_here = |line: &SequencedLine| line.texts.iter().all(|id| shared.has_text(*id));
        let was_late = next.is_none();
        if let Some(NextLines { lines, has_more: false }) = next
            && lines.iter().all(is_here)
        {
            take(shared, order, &lines)?;
            return Ok(pulled + lines.len());
        }
        order.let_go(until);
        pulled += pull(shared, order)?;
        if was_late || Instant::now() >= until {
            return Ok(pulled);
        }
    }
}

/// Takes lines into the mirror, their long texts first.
fn take(
    shared: &BusShared,
    order: &dyn Sequencer,
    lines: &[SequencedLine],
) -> Result<(), BusError> {
    for id in lines.iter().flat_map(|line| &line.texts) {
        if !shared.has_text(*id) {
            let until = Instant::now() + wait_times::SERVER;
            shared.durability.put_blob(*id, &order.text(*id, until)?)?;
        }
    }
    if !lines.is_empty() {
        shared.take(lines)?;
    }
    Ok(())
}

/// Stores the long texts that a line names, unless they are stored.
fn store_texts(
    shared: &BusShared,
    order: &dyn Sequencer,
    texts: &[Uuid],
    stored: &mut Vec<Uuid>,
    until: Instant,
) -> Result<(), BusError> {
    for id in texts {
        if !stored.contains(id) {
            let text = shared.core().log.get_blob(*id)?;
            order.put_text(*id, &text, until)?;
            stored.push(*id);
        }
    }
    Ok(())
}
