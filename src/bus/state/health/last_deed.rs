//! When a member last did something itself, as far as the state has that.

use crate::bus::state::{Session, State};
use crate::domain::ids::CallId;
use crate::domain::member::MemberKind;
use crate::domain::messaging::MessageKind;
use crate::domain::time::Now;

impl State {
    /// Returns when a session last did something itself, in wall time. All that is written in its name counts, but of an orchestrator, whose
    /// bridge writes what its agents do and what its workflows begin, only what its model does.
    pub fn last_deed_ms(&self, session: &Session, now: Now) -> i64 {
        if session.kind != MemberKind::Orchestrator {
            return session.last_ms;
        }
        let ago_ms = now.tick.ms.saturating_sub(session.since.ms);
        let is_of_boot = session.since.boot == now.tick.boot;
        let joined_ms =
            if is_of_boot { now.wall_ms.saturating_sub_unsigned(ago_ms) } else { session.last_ms };
        let name = &session.name;
        let calls =
            session.waits.iter().map(|wait| wait.call).chain(session.in_flight.keys().copied());
        let calls = calls.chain(session.written.iter().copied()).filter_map(CallId::made_ms);
        // A reminder is written by a bridge in the name of the one who asked.
        let sent = self
            .messages()
            .filter(|one| one.from.member() == Some(name) && one.kind != MessageKind::Nudge);
        let tasks = self.tasks().filter(|task| task.by == *name && task.workflow.is_none());
        let workflows = self.workflows.values().filter(|workflow| workflow.by == *name);
        let deeds = calls
            .chain(sent.map(|message| message.sent_ms))
            .chain(tasks.map(|task| task.queued_ms));
        let deeds =
            deeds.chain(workflows.map(|workflow| workflow.created_ms)).chain(session.called_ms);
        // Whoever had its name before may have done more, but not later than its own session wrote.
        deeds.max().unwrap_or(joined_ms).max(joined_ms).min(session.last_ms)
    }
}
