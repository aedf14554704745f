//! What is wrong on a bus, each with the member that it is about.

use schemars::JsonSchema;
use serde::Serialize;

use crate::bus::state::{EndedSession, State};
use crate::domain::member::{Departure, MemberKind};
use crate::domain::text::counted::counted_as;
use crate::domain::text::visible_letters::one_line;
use crate::domain::time::Now;
use crate::domain::wait_times;
use crate::view::MemberRow;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// The heartbeat of a process stands still.
    Hung,
    /// An agent shows no sign of life in its turn.
    Stalled,
    /// An agent does not end a turn whose task was abandoned.
    Stuck,
    /// A process has ended, and no session has recorded that yet.
    Gone,
    /// An agent has ended by itself in the last minutes.
    Crashed,
    /// The log has lines that cannot be read.
    Damaged,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Problem {
    pub kind: ProblemKind,
    /// The member that it is about, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// What is wrong, in words.
    pub words: String,
}

impl Problem {
    /// Says whether it is the end of this member.
    pub fn is_end_of(&self, row: &MemberRow) -> bool {
        self.member.as_deref() == Some(&*row.name)
            && match self.kind {
                ProblemKind::Gone => row.state == "gone",
                // Another of the same name may have left since then.
                ProblemKind::Crashed => row.state == "left" && row.doing == self.words,
                _ => false,
            }
    }

    /// Says whether it is wrong with the bus itself.
    pub fn is_of_bus(&self) -> bool {
        self.member.is_none()
    }
}

/// Collects what is wrong.
pub(super) fn of(
    state: &State,
    members: &[MemberRow],
    damaged_lines: u64,
    now: Now,
) -> Vec<Problem> {
    let of_member = |member: &MemberRow| {
        let (kind, words) = match member.state.as_str() {
            "hung" if member.kind == "agent" => (ProblemKind::Hung, "its bridge does not respond"),
            "hung" => (ProblemKind::Hung, "its process does not respond"),
            "stalled" => (ProblemKind::Stalled, "it shows no sign of life in its turn"),
            "stuck" => (ProblemKind::Stuck, "it does not end a cancelled turn"),
            "gone" => {
                (ProblemKind::Gone, "its process has ended; the next session will record that")
            }
            _ => return None,
        };
        Some(Problem { kind, member: Some(member.name.clone()), words: words.to_owned() })
    };
    let crashed = state.departed().rev().filter(|ended| has_crashed(ended, now));
    let crashed = crashed.map(|ended| Problem {
        kind: ProblemKind::Crashed,
        member: Some(ended.name.to_string()),
        words: one_line(&ended.reason()),
    });
    let damaged = (damaged_lines > 0).then(|| Problem {
        kind: ProblemKind::Damaged,
        member: None,
        words: counted_as(
            damaged_lines,
            "line of the log is damaged: `cli-team-bridge doctor` says where",
            "lines of the log are damaged: `cli-team-bridge doctor` says where",
        ),
    });
    members.iter().filter_map(of_member).chain(crashed).chain(damaged).collect()
}

/// Says whether an agent has ended by itself in the last minutes.
fn has_crashed(ended: &EndedSession, now: Now) -> bool {
    ended.kind == MemberKind::Agent
        && matches!(ended.departure, Departure::Failed | Departure::Dead)
        && ended.at.boot == now.tick.boot
        && now.tick.ms.saturating_sub(ended.at.ms) <= wait_times::DEPARTED_SHOWN_MS
}
