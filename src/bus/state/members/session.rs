//! A known name, the live session that it may have, and the word for how that session is doing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::bus::state::{Chunked, Run, Wait};
use crate::domain::ids::{CallId, MessageId, RequestId, SessionId, TaskId};
use crate::domain::member::{Activity, MemberKind, ProcessMark, Tools};
use crate::domain::messaging::DeliveryMethod;
use crate::domain::name::Name;
use crate::domain::time::Tick;

/// A known name, with or without a live session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// As it was last written.
    pub name: Name,
    /// Whether it was chosen and not generated: then mail waits for its return.
    pub chosen: bool,
    /// The live session of that name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The unread messages that are not in flight, by seq.
    #[serde(default, skip_serializing_if = "Chunked::is_empty")]
    pub unread: Chunked<u64, MessageId>,
    /// How many bytes the texts of these have.
    #[serde(skip)]
    pub unread_bytes: u64,
}

/// A live session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub id: SessionId,
    pub name: Name,
    /// What kind of member it is.
    pub kind: MemberKind,
    /// The profile it was started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The model it uses, as far as known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// The bridge that holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<SessionId>,
    /// What its endpoints must show, hashed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_hash: Option<String>,
    /// Its process, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The process that its server serves, as far as known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ProcessMark>,
    pub activity: Activity,
    /// Whether it has our tools.
    pub tools: Tools,
    /// Its place among all.
    pub since_seq: u64,
    pub since: Tick,
    /// When it last did something, in wall time.
    pub last_ms: i64,
    /// The task in its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<TaskId>,
    /// The tasks behind that one.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub queue: VecDeque<TaskId>,
    /// Whether its end is asked for, and whether by signals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopMode>,
    /// Which calls hold messages that have not been seen.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", rename = "handed")]
    pub in_flight: BTreeMap<CallId, Vec<MessageId>>,
    /// Its unheard claims: the call on whose answer each depends. Only agents have them; other sessions end with their endpoint.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unheard: BTreeMap<RequestId, CallId>,
    /// Which of these calls have an answer that was written to their client.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub written: BTreeSet<CallId>,
    /// When each of these calls last got a message or a claim, in milliseconds of the boot.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub held_since: BTreeMap<CallId, u64>,
    /// The calls that wait, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<Wait>,
    /// How its agent runs.
    #[serde(default)]
    pub run: Option<Run>,
    /// Whether it has shown no sign of life in its turn for too long.
    #[serde(default)]
    pub stalled: bool,
    /// Whether it does not end a turn whose task was abandoned.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stuck: bool,
    /// Whether its heartbeat stands still.
    #[serde(default)]
    pub hung: bool,
    /// How often its agent was started again.
    #[serde(default)]
    pub restarts: u32,
    /// The methods by which its bridge can deliver messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<DeliveryMethod>,
}

/// How an agent is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopMode {
    /// By a request to end.
    Gracefully,
    AtOnce,
}

impl Session {
    /// Says whether one of these processes is the agent's own, or its shim.
    pub fn runs_as_any_of(&self, processes: &[ProcessMark]) -> bool {
        self.run.as_ref().is_some_and(|run| {
            let own = std::iter::once(&run.agent).chain(&run.shim);
            // Without the time of its start a process could be another one by now.
            own.filter(|own| own.started.is_some()).any(|own| processes.contains(own))
        })
    }

    /// Returns the word for how it is doing: `waiting` while one of its calls waits, `stalled` in a turn without a sign of life,
    /// `stuck` in one whose task was abandoned, `hung` while the heartbeat of its process stands still.
    pub fn status(&self) -> &'static str {
        match self.activity {
            _ if self.hung => "hung",
            Activity::Starting | Activity::Running | Activity::Idle if self.stuck => "stuck",
            // A question for permission that waits for its answer belongs here, above a turn that merely runs.
            Activity::Starting | Activity::Running | Activity::Idle if !self.waits.is_empty() => {
                "waiting"
            }
            Activity::Running if self.stalled => "stalled",
            activity => activity.as_str(),
        }
    }
}
