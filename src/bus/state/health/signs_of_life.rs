//! How the events about processes and signs of life change the state.

use crate::bus::event::{Event, Runs};
use crate::bus::state::event_place::At;
use crate::bus::state::{Due, Run, State, size_bounds};
use crate::domain::ids::SessionId;
use crate::domain::limits;
use crate::domain::member::{Activity, Tools};

impl State {
    /// Applies the events of health.
    pub(in crate::bus::state) fn apply_health(&mut self, event: &Event, at: &At) {
        match event {
            Event::AgentRuns(runs) => self.agent_runs(runs, at),
            Event::AgentSwept { session } => {
                self.unswept.remove(session);
                if !self.sessions.contains_key(session) {
                    self.hosts.remove(session);
                }
            }
            Event::AgentStirred { session } => {
                if let Some(session) = self.sessions.get_mut(session) {
                    session.stalled = false;
                    session.last_ms = at.wall_ms();
                    session.note_call(at);
                }
            }
            Event::AgentStalled { session } => {
                if let Some(session) = self.sessions.get_mut(session) {
                    session.stalled = true;
                }
            }
            Event::AgentStuck { session, .. } | Event::AgentFree { session, .. } => {
                if let Some(session) = self.sessions.get_mut(session) {
                    session.stuck = matches!(event, Event::AgentStuck { .. });
                    session.last_ms = at.wall_ms();
                }
            }
            Event::AgentCrashed { session, .. } => self.agent_crashed(*session, at),
            Event::MemberHung { session } => self.member_hung(*session, at),
            Event::MemberBack { session } => {
                if let Some(session) = self.sessions.get_mut(session) {
                    session.hung = false;
                    session.last_ms = at.wall_ms();
                }
            }
            Event::LimitsSet(limits) => self.limits = *limits,
            _ => {}
        }
    }

    fn agent_runs(&mut self, runs: &Runs, at: &At) {
        if let Some(session) = self.sessions.get_mut(&runs.session) {
            session.run = Some(Run {
                boot: at.tick.boot,
                agent: runs.agent,
                shim: runs.shim,
                acp_session: size_bounds::name(runs.acp_session.as_ref(), limits::AGENT_ID_BYTES),
                place: runs.place.clone(),
            });
        }
    }

    /// Remembers a dead agent until its processes are swept. Above a limit the oldest are forgotten: ids begin with their time of
    /// creation.
    pub(in crate::bus::state) fn leave_to_be_swept(
        &mut self,
        session: SessionId,
        run: Option<Run>,
    ) {
        self.unswept.insert(session, run);
        while self.unswept.len() > limits::KEPT_UNSWEPT {
            if let Some((oldest, _)) = self.unswept.pop_first() {
                self.hosts.remove(&oldest);
            }
        }
    }

    /// Applies a crash. The messages of the ended process are requeued by events of their own.
    fn agent_crashed(&mut self, id: SessionId, at: &At) {
        self.reopen_soon(id, at);
        let Some(session) = self.sessions.get_mut(&id) else {
            return;
        };
        for wait in std::mem::take(&mut session.waits) {
            self.timers.stop(&Due::Wait(id, wait.call));
        }
        session.stalled = false;
        session.stuck = false;
        session.restarts = session.restarts.saturating_add(1);
        session.tools = Tools::Unproven;
        session.last_ms = at.wall_ms();
        if session.stop.is_none() {
            session.activity = Activity::Starting;
        }
    }

    fn member_hung(&mut self, id: SessionId, at: &At) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.hung = true;
            self.reopen_soon(id, at);
            self.workflows_left_by(id, at.ts);
        }
    }

    /// Starts timers that are due at once: they reopen the requests for which the append that ends a session's claims has no room.
    pub(in crate::bus::state) fn reopen_soon(&mut self, id: SessionId, at: &At) {
        let held: Vec<_> = self.claimed_by(id).map(|held| held.id.clone()).collect();
        for request in held {
            self.timers.start(Due::Reopen(request), at.tick.ms, 0);
        }
    }

    /// Returns the dead agents whose processes may still run, with those processes if they are known.
    pub fn unswept(&self) -> impl Iterator<Item = (SessionId, Option<&Run>)> {
        self.unswept.iter().map(|(id, run)| (*id, run.as_ref()))
    }
}
