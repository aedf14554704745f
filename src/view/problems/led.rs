//! Whether a bridge led anything: only then its end is news. A client that starts it to ask what tools it has, and then ends it, as
//! `claude mcp list` does, has lost nothing.

use crate::bus::state::{EndedSession, Session, State};
use crate::domain::ids::SessionId;
use crate::domain::member::{Departure, MemberKind};
use crate::domain::name::Name;
use crate::domain::time::{Now, Tick};
use crate::view::rows::member_row::moment_of;

/// The life of a bridge.
pub(super) struct Bridge<'a> {
    name: &'a Name,
    session: SessionId,
    since: Tick,
}

impl<'a> Bridge<'a> {
    pub(super) fn of_session(session: &'a Session) -> Self {
        Self { name: &session.name, session: session.id, since: session.since }
    }

    pub(super) fn of_ended(ended: &'a EndedSession) -> Self {
        Self { name: &ended.name, session: ended.session, since: ended.since }
    }

    /// Says whether it had an agent, a task or a workflow. What an earlier one of its name had does not count.
    pub(super) fn led_anything(&self, state: &State, now: Now) -> bool {
        let began_ms = moment_of(self.since, now).0;
        let owned = state.live_sessions();
        let mut tasks = state.tasks();
        let workflows = state.workflows();
        owned.iter().any(|session| session.owner == Some(self.session))
            || tasks.any(|task| task.by == *self.name && task.queued_ms >= began_ms)
            || workflows.iter().any(|workflow| {
                let last_ms = workflow.ended_ms.or(workflow.interrupted_ms);
                let last_ms = last_ms.unwrap_or(workflow.created_ms);
                workflow.owner == Some(self.session)
                    || workflow.by == *self.name && last_ms >= began_ms
            })
            || state.departed().any(|ended| self.may_have_had(ended))
    }

    /// Says whether an agent that was found dead may have been one of it: no record says whose it was.
    fn may_have_had(&self, ended: &EndedSession) -> bool {
        ended.kind == MemberKind::Agent
            && ended.departure == Departure::Dead
            && ended.since.boot == self.since.boot
            && ended.since.ms >= self.since.ms
    }
}
