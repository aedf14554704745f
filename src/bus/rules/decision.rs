//! A decision in steps: each step sees the state after the steps before it, and all of them become one append.

use super::command::Command;
use super::event_writer::Writer;
use super::refusal::Refusal;
use crate::bus::event::{Entry, Event};
use crate::bus::state::State;
use crate::bus::storage::file::line_format;
use crate::bus::storage::{LogPosition, Proposal};
use crate::domain::ids::CommandId;
use crate::domain::limits;
use crate::domain::member::MemberKind;
use crate::domain::time::Now;

/// The seq of events that are not in the log yet: behind everything that is.
const NOT_YET: u64 = u64::MAX / 2;

/// The room of a line for events, without the fields of its command.
const LINE_BYTES: usize = line_format::MAX_LINE_BYTES - 1024;

/// The events of a command that is being decided.
pub(super) struct Decision<'a> {
    before: &'a State,
    now: Now,
    command: &'a Command,
    /// The events so far.
    events: Vec<Event>,
    /// The state after the first `applied` events; none until a step needs it, as most decisions have one step.
    after: Option<State>,
    applied: usize,
    ids_used: u32,
    /// How many of the events are overdue work.
    due: usize,
    /// How many events are counted in the bytes of overdue work and of the operation.
    counted: usize,
    due_bytes: usize,
    asked_bytes: usize,
    /// How many waits got a message.
    in_flight: usize,
}

impl<'a> Decision<'a> {
    pub(super) fn new(before: &'a State, now: Now, command: &'a Command) -> Self {
        Self {
            before,
            now,
            command,
            events: Vec::new(),
            after: None,
            applied: 0,
            ids_used: 0,
            due: 0,
            counted: 0,
            due_bytes: 0,
            asked_bytes: 0,
            in_flight: 0,
        }
    }

    /// Returns the state that the last step has seen.
    pub(super) fn state(&self) -> &State {
        self.after.as_ref().unwrap_or(self.before)
    }

    /// Says whether another orchestrator may have to lead after the events so far.
    pub(super) fn may_move_lead(&self) -> bool {
        self.events.iter().any(|event| match event {
            Event::MemberJoined(joined) => joined.kind == MemberKind::Orchestrator,
            Event::MemberHung { session }
            | Event::MemberBack { session }
            | Event::MemberLeft { session, .. } => {
                let known = self.before.session(*session);
                known.is_none_or(|known| known.kind == MemberKind::Orchestrator)
            }
            _ => false,
        })
    }

    /// Says whether the rest, of overdue work or of the operation, is better left to the next append.
    pub(super) fn is_full(&mut self) -> bool {
        self.room() == 0 || self.events.len() - self.due >= limits::EVENTS_AT_ONCE
    }

    /// Returns how many more bytes of events this append should have.
    fn room(&mut self) -> usize {
        let bytes = self.count();
        limits::DUE_BYTES.saturating_sub(bytes)
    }

    /// Counts the bytes of overdue work or, after `end_due`, of the operation.
    fn count(&mut self) -> usize {
        let new = self.events[self.counted..].iter().map(line_format::bytes_of);
        self.asked_bytes += new.sum::<usize>();
        self.counted = self.events.len();
        self.asked_bytes
    }

    /// Ends the overdue work: the events of the operation follow.
    pub(super) fn end_due(&mut self) {
        if !self.events.is_empty() {
            self.due_bytes = self.count();
            self.asked_bytes = 0;
            self.due = self.events.len();
        }
    }

    /// Takes a step. If it is refused, the whole decision is void.
    pub(super) fn step(
        &mut self,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        self.apply_pending();
        let room = if self.events.len() > self.due { self.room() } else { limits::DUE_BYTES };
        let state = self.after.as_ref().unwrap_or(self.before);
        let mut writer = Writer::new(state, self.now, self.command, room);
        writer.ids_used = self.ids_used;
        writer.in_flight = self.in_flight;
        write(&mut writer)?;
        self.ids_used = writer.ids_used;
        self.in_flight = writer.in_flight;
        self.events.append(&mut writer.events);
        Ok(())
    }

    /// Applies the events so far to the state. Their bodies cannot be read from it.
    fn apply_pending(&mut self) {
        if self.applied == self.events.len() {
            return;
        }
        let entry = Entry {
            seq: NOT_YET + self.applied as u64,
            ts: self.now.wall_ms,
            tick: self.now.tick,
            // Not the command's own id, because the command is not in the log yet.
            id: CommandId(uuid::Uuid::nil()),
            by: None,
            events: self.events[self.applied..].to_vec(),
        };
        let indices: Vec<u16> = (0..).take(entry.events.len()).collect();
        self.after.get_or_insert_with(|| self.before.clone()).apply(
            &entry,
            &indices,
            LogPosition::default(),
        );
        self.applied = self.events.len();
    }

    /// Returns all events; or only the overdue work, under an id of its own, if the command does not fit into the same line.
    pub(super) fn into_proposal(mut self) -> Option<Proposal> {
        let is_both = self.due > 0 && self.events.len() > self.due;
        if is_both && self.due_bytes + self.count() > LINE_BYTES {
            self.events.truncate(self.due);
            return Some(Proposal { id: self.command.id.ahead(), by: None, events: self.events });
        }
        (!self.events.is_empty()).then_some(Proposal {
            id: self.command.id,
            by: self.command.by,
            events: self.events,
        })
    }
}
