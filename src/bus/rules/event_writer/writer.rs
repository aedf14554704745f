//! Collects the events of one step of a decision, as long as the line has room for them.

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
    /// How many waits this append answers so far.
    pub(in crate::bus::rules) in_flight: usize,
    /// How many bytes of events the append should still take; the first `counted` are off already.
    room: usize,
    counted: usize,
    command: &'a Command,
    /// Waits that this decision has answered already.
    pub(super) answered: BTreeSet<(SessionId, CallId)>,
    /// The session whose leaving is being written: it gets nothing more.
    pub(super) leaving: Option<SessionId>,
    /// The session whose process or turn has ended: its calls wait for nothing any more.
    pub(super) deaf: Option<SessionId>,
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
            deaf: None,
        }
    }

    /// Delivers nothing more to the waits of a session.
    pub(in crate::bus::rules) fn deafen(&mut self, session: SessionId) {
        self.deaf = Some(session);
    }

    pub(in crate::bus::rules) fn push(&mut self, event: Event) {
        match &event {
            Event::MemberLeft { session, .. } => self.leaving = Some(*session),
            Event::AgentCrashed { session, .. } => self.deaf = Some(*session),
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

    /// Draws an id that nothing in the state has.
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

    /// Says whether a session is leaving by this very decision.
    pub(in crate::bus::rules) fn is_leaving(&self, session: SessionId) -> bool {
        self.leaving == Some(session)
    }

    /// Returns a live session.
    pub(in crate::bus::rules) fn session(&self, id: SessionId) -> Result<&'a Session, Refusal> {
        self.state.session(id).ok_or(Refusal::Left)
    }

    /// Says whether a session may act for another: itself, or an agent that it holds.
    pub(in crate::bus::rules) fn acts_for(
        &self,
        me: SessionId,
        session: SessionId,
    ) -> Result<&'a Session, Refusal> {
        let held = self.session(session)?;
        if me == session || held.owner == Some(me) { Ok(held) } else { Err(Refusal::NotTheOwner) }
    }
}
