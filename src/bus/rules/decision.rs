//! One decision in steps: each is taken in the state that the steps before it lead to, and all become one append.

use super::command::Command;
use super::refusal::Refusal;
use super::writer::Writer;
use crate::bus::event::{Entry, Event};
use crate::bus::log::{Place, Proposal};
use crate::bus::state::State;
use crate::domain::id::CommandId;
use crate::domain::time::Now;

/// Where events of a decision stand before they have a place: behind everything that is in the log.
const NOT_YET: u64 = u64::MAX / 2;

/// The events of a command in the making.
pub(super) struct Decision<'a> {
    before: &'a State,
    now: Now,
    command: &'a Command,
    /// The events so far.
    events: Vec<Event>,
    /// The state after the first `applied` events; none while no step needed it, as most decisions have one step.
    after: Option<State>,
    applied: usize,
    ids_used: u32,
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
        }
    }

    /// Returns how many events there are.
    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    /// Takes a step. When it is refused, nothing of the decision may be used.
    pub(super) fn step(
        &mut self,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        self.apply_pending();
        let state = self.after.as_ref().unwrap_or(self.before);
        let mut writer = Writer::new(state, self.now, self.command);
        writer.ids_used = self.ids_used;
        write(&mut writer)?;
        self.ids_used = writer.ids_used;
        self.events.append(&mut writer.events);
        Ok(())
    }

    /// Brings the state up to the events so far. Their bodies cannot be read from it.
    fn apply_pending(&mut self) {
        if self.applied == self.events.len() {
            return;
        }
        let entry = Entry {
            seq: NOT_YET + self.applied as u64,
            ts: self.now.wall_ms,
            tick: self.now.tick,
            // Not the command's own id: the command is not in the log yet.
            id: CommandId(uuid::Uuid::nil()),
            by: None,
            events: self.events[self.applied..].to_vec(),
        };
        let indices: Vec<u16> = (0..).take(entry.events.len()).collect();
        self.after.get_or_insert_with(|| self.before.clone()).apply(
            &entry,
            &indices,
            Place::default(),
        );
        self.applied = self.events.len();
    }

    pub(super) fn into_proposal(self) -> Option<Proposal> {
        (!self.events.is_empty()).then_some(Proposal {
            id: self.command.id,
            by: self.command.by,
            events: self.events,
        })
    }
}
