//! The last sessions that left: why each of them ended, and how to resume its agent.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::bus::state::{Session, size_bounds};
use crate::domain::ids::SessionId;
use crate::domain::member::{Departure, MemberKind, SessionNumber};
use crate::domain::name::Name;
use crate::domain::task::result::Usage;
use crate::domain::time::Tick;

/// How many of them the state keeps: enough for a list of dead members.
const KEPT_ENDED_SESSIONS: usize = 64;

/// A session that has left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedSession {
    pub name: Name,
    pub session: SessionId,
    /// The number that it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<SessionNumber>,
    pub kind: MemberKind,
    pub departure: Departure,
    /// An explanation of the departure.
    pub detail: Option<String>,
    pub since: Tick,
    pub at: Tick,
    /// When it was last active, in wall time.
    pub last_ms: i64,
    /// What its turns used besides what the reports of its tasks count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_beside_tasks: Option<Usage>,
    /// Where its client worked, if it joined by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// How to resume it, if it was an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub past: Option<ResumeInfo>,
}

/// How to resume an agent that has left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumeInfo {
    /// The profile it was started from.
    pub profile: String,
    pub cwd: String,
    /// The model that it used, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The agent's own id of its ACP session, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acp_session: Option<String>,
    /// The machine on which it was, on a bus that several machines share: its conversation and its files are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl EndedSession {
    /// Makes the record of a session that leaves now.
    pub(in crate::bus::state) fn of(
        session: Session,
        host: Option<String>,
        departure: Departure,
        detail: Option<&str>,
        at: Tick,
    ) -> Self {
        let (past, cwd) = match (session.profile, session.cwd) {
            (Some(profile), Some(cwd)) => {
                let acp_session = session.run.and_then(|run| run.acp_session);
                let model = session.model;
                (Some(ResumeInfo { profile, cwd, model, acp_session, host }), None)
            }
            (_, cwd) => (None, cwd),
        };
        Self {
            past,
            cwd,
            used_beside_tasks: session.used_beside_tasks,
            name: session.name,
            session: session.id,
            number: session.number,
            kind: session.kind,
            departure,
            detail: detail.map(size_bounds::words),
            since: session.since,
            at,
            last_ms: session.last_ms,
        }
    }

    /// Records it as the last session that left, and forgets the oldest ones above the limit.
    pub(in crate::bus::state) fn record_in(self, departed: &mut VecDeque<Self>) {
        departed.push_back(self);
        while departed.len() > KEPT_ENDED_SESSIONS {
            departed.pop_front();
        }
    }

    /// Returns why it left, with the detail if there is one.
    pub fn reason(&self) -> String {
        match self.departure.with_detail(self.detail.as_deref()) {
            (word, Some(detail)) => format!("{word}: {detail}"),
            // Its status is `dead` already.
            (_, None) if self.departure == Departure::Dead => "its process died".to_owned(),
            (word, None) => word.to_owned(),
        }
    }
}
