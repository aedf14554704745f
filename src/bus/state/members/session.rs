//! A known name, its live session if it has one, and the word for that session's status.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::bus::state::{Chunked, Pace, Run, UnreadPlace, Wait};
use crate::domain::ids::{CallId, MessageId, RequestId, SessionId, TaskId};
use crate::domain::member::{
    Activity, Label, MemberKind, ProcessMark, SessionNumber, Tools, Traits,
};
use crate::domain::messaging::DeliveryMethod;
use crate::domain::name::Name;
use crate::domain::task::result::Usage;
use crate::domain::time::Tick;

/// A known name, with or without a live session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// As it was last written.
    pub name: Name,
    /// Whether it was chosen and not generated. Mail of a chosen name waits for its next session.
    pub chosen: bool,
    /// The live session of that name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Its unread messages, the most urgent first, and then the oldest. Messages in flight are not among them.
    #[serde(default, skip_serializing_if = "Chunked::is_empty")]
    pub unread: Chunked<UnreadPlace, MessageId>,
    /// The size of their texts.
    #[serde(skip)]
    pub unread_bytes: u64,
    /// The places of those that are unread again after a delivery that nothing proved.
    #[serde(skip)]
    pub returned: BTreeSet<UnreadPlace>,
    /// How fast it sends, once it has sent while the team had a limit of that. It outlives a session as long as the name is known, so a
    /// new session begins no new burst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<Box<Pace>>,
}

/// A live session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub id: SessionId,
    /// Its number on this bus. A session that an earlier version began has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<SessionNumber>,
    pub name: Name,
    pub kind: MemberKind,
    /// The profile it was started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The model it uses, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// What else it says of itself.
    #[serde(default, skip_serializing_if = "Traits::are_none")]
    pub traits: Traits,
    /// The lanes that it has claimed, beside the one that it says it does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lanes: Vec<Label>,
    /// The bridge that holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<SessionId>,
    /// The hash of the token by which its endpoints join.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_hash: Option<String>,
    /// Its process, for display.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The process that its server serves, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ProcessMark>,
    pub activity: Activity,
    /// Whether it has our tools.
    pub tools: Tools,
    /// The seq of the event with which it began: sessions are ordered by it.
    pub since_seq: u64,
    pub since: Tick,
    /// When it was last active, in wall time.
    pub last_ms: i64,
    /// Of an orchestrator with a claim: when its model last called, as far as that is known. Its bridge is active without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called_ms: Option<i64>,
    /// The task of its current turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<TaskId>,
    /// The tasks after that one.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub queue: VecDeque<TaskId>,
    /// How it has been asked to stop, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopMode>,
    /// The messages in flight, by the call that delivered them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", rename = "handed")]
    pub in_flight: BTreeMap<CallId, Vec<MessageId>>,
    /// Its unheard claims, each with the call whose answer it depends on. Only agents have them; other sessions end with their
    /// endpoint.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unheard: BTreeMap<RequestId, CallId>,
    /// The calls, of both kinds, whose answers were written to their client.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub written: BTreeSet<CallId>,
    /// When each call last got a message or a claim, in milliseconds of the boot.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub held_since: BTreeMap<CallId, u64>,
    /// Its waiting calls, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<Wait>,
    /// The processes of its agent.
    #[serde(default)]
    pub run: Option<Run>,
    /// Whether it has shown no sign of life in its turn for too long a time.
    #[serde(default)]
    pub stalled: bool,
    /// Whether it does not end a turn whose task was abandoned.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stuck: bool,
    /// Whether its heartbeat has stopped.
    #[serde(default)]
    pub hung: bool,
    /// How often its agent was restarted.
    #[serde(default)]
    pub restarts: u32,
    /// What its turns have used besides what the reports of its tasks count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_beside_tasks: Option<Usage>,
    /// The methods by which its bridge can deliver messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "ways")]
    pub methods: Vec<DeliveryMethod>,
}

/// How an agent is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopMode {
    /// By a message that asks it to.
    Gracefully,
    AtOnce,
}

impl Session {
    /// Says whether one of these processes is the agent's own, or its shim.
    pub fn runs_as_any_of(&self, processes: &[ProcessMark]) -> bool {
        self.run.as_ref().is_some_and(|run| {
            let own = std::iter::once(&run.agent).chain(&run.shim);
            // Without its start time, the pid may belong to another process by now.
            own.filter(|own| own.started.is_some()).any(|own| processes.contains(own))
        })
    }

    /// Says whether an agent has started, and its first turn waits until it has asked for our tools.
    pub fn awaits_tools(&self) -> bool {
        self.kind == MemberKind::Agent
            && self.activity == Activity::Idle
            && self.tools == Tools::Unproven
            && !self.queue.is_empty()
    }

    /// Returns the word for its status: `waiting` while one of its calls waits, `stalled` in a turn without a sign of life, `stuck`
    /// in one whose task was abandoned, `hung` while the heartbeat of its process has stopped.
    pub fn status(&self) -> &'static str {
        match self.activity {
            _ if self.hung => "hung",
            Activity::Starting | Activity::Running | Activity::Idle if self.stuck => "stuck",
            Activity::Starting | Activity::Running | Activity::Idle if !self.waits.is_empty() => {
                "waiting"
            }
            Activity::Running if self.stalled => "stalled",
            activity => activity.as_str(),
        }
    }
}
