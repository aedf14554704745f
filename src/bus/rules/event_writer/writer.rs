//! Collects the events of one step of a decision, and says when the line has no more room.

use std::collections::BTreeSet;

use crate::bus::event::Event;
use crate::bus::rules::command::Command;
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::{Session, State};
use crate::bus::storage::file::line_format;
use crate::domain::ids::{CallId, MessageId, SessionId};
use crate::domain::limits;
use crate::domain::time::Now;

/// The events of one step of a decision.
pub(in crate::bus::rules) struct Writer<'a> {
    /// The state to decide in.
    pub(in crate::bus::rules) state: &'a State,
    pub(in crate::bus::rules) now: Now,
    /// The events so far.
    pub(in crate::bus::rules) events: Vec<Event>,
    /// How many ids were drawn from the command.
    pub(in crate::bus::rules) ids_used: u32,
    /// How many waits got a message in this append so far.
    pub(in crate::bus::rules) in_flight: usize,
    /// How many more bytes of events the append should have. The first `counted` events are already subtracted.
    room: usize,
    counted: usize,
    command: &'a Command,
    /// Waits that this step has already answered.
    pub(super) answered: BTreeSet<(SessionId, CallId)>,
    /// The session that leaves by this step: it gets no more messages.
    pub(super) leaving: Option<SessionId>,
    /// The session whose process or turn has ended: its calls no longer wait.
    pub(super) not_waiting: Option<SessionId>,
}

impl<'a> Writer<'a> {
    pub(in crate::bus::rules) fn new(
        state: &'a State,
        now: Now,
        command: &'a Command,
        room: usize,
    ) -> Self {
        Self {
            state,
            now,
            events: Vec::new(),
            ids_used: 0,
            in_flight: 0,
            room,
            counted: 0,
            command,
            answered: BTreeSet::new(),
            leaving: None,
            not_waiting: None,
        }
    }

    /// From now on delivers nothing to the waits of a session.
    pub(in crate::bus::rules) fn ignore_waits_of(&mut self, session: SessionId) {
        self.not_waiting = Some(session);
    }

    pub(in crate::bus::rules) fn push(&mut self, event: Event) {
        match &event {
            Event::MemberLeft { session, .. } => self.leaving = Some(*session),
            Event::AgentCrashed { session, .. } => self.not_waiting = Some(*session),
            _ => {}
        }
        self.events.push(event);
    }

    /// Says whether the rest is better left to the next append.
    pub(in crate::bus::rules) fn is_full(&mut self) -> bool {
        let new = self.events[self.counted..].iter().map(line_format::bytes_of);
        self.room = self.room.saturating_sub(new.sum());
        self.counted = self.events.len();
        self.room == 0 || self.events.len() >= limits::EVENTS_AT_ONCE
    }

    /// Draws an id that is not used in the state.
    pub(in crate::bus::rules) fn new_id<I>(
        &mut self,
        make: impl Fn(u64) -> I,
        taken: impl Fn(&State, &I) -> bool,
    ) -> I {
        loop {
            let id = make(self.command.id.bits(self.ids_used));
            self.ids_used += 1;
            if !taken(self.state, &id) {
                return id;
            }
        }
    }

    pub(in crate::bus::rules) fn message_id(&mut self) -> MessageId {
        self.new_id(MessageId::from_bits, |state, id| state.messages.contains_key(id))
    }

    /// Says whether a session leaves by this step.
    pub(in crate::bus::rules) fn is_leaving(&self, session: SessionId) -> bool {
        self.leaving == Some(session)
    }

    pub(in crate::bus::rules) fn session(&self, id: SessionId) -> Result<&'a Session, Refusal> {
        self.state.session(id).ok_or(Refusal::Left)
    }

    /// Returns a session for which another may act: the same one, or an agent that it holds.
    pub(in crate::bus::rules) fn acts_for(
        &self,
        me: SessionId,
        session: SessionId,
    ) -> Result<&'a Session, Refusal> {
        let held = self.session(session)?;
        if me == session || held.owner == Some(me) { Ok(held) } else { Err(Refusal::NotTheOwner) }
    }
}
