//! The state that follows from the log: headers of everything that is still of interest, and nothing else.
//!
//! [`State::apply`] takes an entry as a fact: it never refuses and never panics, even when a cause is missing. The rules are in
//! `bus::rules`. Bodies stay in the log; the state knows where.

mod absent_members;
mod apply;
mod chunked_list;
mod delivery_status;
mod message_header;
mod health;
mod inbox;
mod size_bounds;
mod messages;
mod permissions;
mod queries;
mod timers;
mod unanswered_requests;
mod unheard_claims;
mod elapsed_time;
mod workflows;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

pub use self::chunked_list::Chunked;
pub use self::delivery_status::Deliveries;
pub use self::elapsed_time::Watch;
pub(super) use self::message_header::Origin;
pub use self::timers::{Due, Timers};
pub use self::unanswered_requests::Unanswered;
pub use self::workflows::{Readiness, StepRun, Workflow};

pub use super::event::BodyRef;
use super::event::Question;
use crate::domain::ids::{
    CallId, CommandId, MessageId, PermissionId, RequestId, SessionId, TaskId, WorkflowId,
};
use crate::domain::limits::TeamLimits;
use crate::domain::member::{Activity, Departure, MemberKind, ProcessMark, Tools};
use crate::domain::messaging::{
    Audience, Author, DeliveryMethod, MessageKind, Priority, RequestStatus,
};
use crate::domain::name::Name;
use crate::domain::permission::{Decider, Decision, Policy};
use crate::domain::task::result::{Context, Usage};
use crate::domain::task::{TaskError, TaskStatus};
use crate::domain::time::Tick;

/// A name that is known, whether somebody of that name is live or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// As it was last written.
    pub name: Name,
    /// Whether somebody chose it: then mail waits for its return.
    pub chosen: bool,
    /// The live session of that name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// What is in the inbox and not handed to anybody, by seq.
    #[serde(default, skip_serializing_if = "Chunked::is_empty")]
    pub unread: Chunked<u64, MessageId>,
    /// How many bytes the texts of these have.
    #[serde(skip)]
    pub unread_bytes: u64,
}

/// A live session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Its member.
    pub name: Name,
    /// What kind of member it is.
    pub kind: MemberKind,
    /// The profile it was started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The model it uses, as far as known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where it works.
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
    /// What it does.
    pub activity: Activity,
    /// Whether it has our tools.
    pub tools: Tools,
    /// Its place among all.
    pub since_seq: u64,
    /// When it began.
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
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub handed: BTreeMap<CallId, Vec<MessageId>>,
    /// What it holds and may not know: on the answer of which call each claim hangs. Only of agents, as the death of other sessions'
    /// endpoints is their own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unheard: BTreeMap<RequestId, CallId>,
    /// Which of these calls have an answer that was written to their client.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub written: BTreeSet<CallId>,
    /// When each of these calls got the last of what it holds, in the machine's own time.
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
    /// Whether it does not end a turn whose task was given up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stuck: bool,
    /// Whether its heartbeat stands still.
    #[serde(default)]
    pub hung: bool,
    /// How often its agent was started again.
    #[serde(default)]
    pub restarts: u32,
    /// By which ways its bridge can hand it messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<DeliveryMethod>,
}

/// The processes of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The boot in which they run: in another one they are no more.
    pub boot: u32,
    /// The agent itself.
    pub agent: ProcessMark,
    /// The process that guards it.
    pub shim: Option<ProcessMark>,
    /// The agent's own id of its ACP session.
    pub acp_session: Option<String>,
    /// The bus directory that they were started for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// How an agent is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopMode {
    /// In good order.
    Gracefully,
    /// By signals.
    AtOnce,
}

/// A session that has left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedSession {
    /// The session as it was.
    pub name: Name,
    /// Its id.
    pub session: SessionId,
    /// What kind of member it was.
    pub kind: MemberKind,
    /// Why it left.
    pub departure: Departure,
    /// What there is to say about it.
    pub detail: Option<String>,
    /// When it began.
    pub since: Tick,
    /// When it left.
    pub at: Tick,
    /// When it last did something, in wall time.
    pub last_ms: i64,
    /// How it lived, so that it can be called back; only of agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub past: Option<ResumeInfo>,
}

/// How an agent lived that has left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumeInfo {
    /// The profile it was started from.
    pub profile: String,
    /// Where it worked.
    pub cwd: String,
    /// The model that it used, as far as known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The agent's own id of its ACP session, if it got so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acp_session: Option<String>,
}

/// A call that waits for a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// The call.
    pub call: CallId,
    /// Only from this member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Name>,
    /// Only about this request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
}

/// A message without its body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// Its place among all.
    pub seq: u64,
    /// When it was sent, in wall time.
    pub sent_ms: i64,
    /// What it is.
    pub kind: MessageKind,
    /// Who speaks.
    pub from: Author,
    /// Whom it is shown to be for.
    pub audience: Audience,
    /// The request that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
    /// The task that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Who claimed the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<Name>,
    /// The message that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// The first message of its thread.
    pub thread: MessageId,
    /// How much it matters to who works on something else.
    #[serde(default, skip_serializing_if = "Priority::is_normal")]
    pub priority: Priority,
    /// Where its text is.
    pub body: BodyRef,
    /// How far it has come with each addressee.
    #[serde(default, skip_serializing_if = "Deliveries::is_empty")]
    pub deliveries: Deliveries,
}

/// How far a message has come with one addressee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// In the inbox.
    Unread {
        /// The session and call that it was last given to in vain.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last: Option<(SessionId, CallId)>,
    },
    /// Given to a call.
    Handed {
        /// The session.
        session: SessionId,
        /// The call.
        call: CallId,
        /// How.
        way: DeliveryMethod,
    },
    /// Taken by the model.
    Seen,
    /// No longer of interest.
    Superseded,
    /// Given up.
    Expired,
}

impl Delivery {
    /// Says whether nothing more will happen to it.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Seen | Self::Superseded | Self::Expired)
    }
}

/// A request without its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Its id.
    pub id: RequestId,
    /// The message that shows it.
    pub message: MessageId,
    /// The place of that message among all; zero in what older versions wrote.
    #[serde(default)]
    pub seq: u64,
    /// Who asks.
    pub from: Name,
    /// When, in wall time.
    pub opened_ms: i64,
    /// Where it stands.
    pub status: RequestStatus,
    /// Whose it is or was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Claim>,
    /// Where its text is.
    pub body: BodyRef,
    /// Milliseconds of open time that are left, while it is claimed.
    pub open_left_ms: u64,
    /// Milliseconds to the nudge that are left, while it is claimed; none when it was nudged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nudge_left_ms: Option<u64>,
}

/// The holding of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The owner.
    pub by: Name,
    /// The owner's session.
    pub session: SessionId,
    /// The claim's own seq: a later claim of the same request has a higher one.
    pub fence: u64,
}

/// A task without its texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// The agent's session.
    pub session: SessionId,
    /// The agent's name.
    pub agent: Name,
    /// Who assigned it.
    pub by: Name,
    /// Where it stands.
    pub status: TaskStatus,
    /// Whether its end is asked for.
    pub cancel_asked: bool,
    /// The model asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether it begins a new session of the agent.
    pub fresh: bool,
    /// What the agent may do in it, where that is not the profile's to say.
    #[serde(default)]
    pub permissions: Option<Policy>,
    /// The workflow whose step it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<WorkflowId>,
    /// Where the prompt is.
    pub prompt: BodyRef,
    /// When it was assigned, in wall time.
    pub queued_ms: i64,
    /// When its turn began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ms: Option<i64>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<i64>,
    /// Where its output is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<BodyRef>,
    /// The last turn's stop reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TaskError>,
    /// What the agent's conversation knew at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// What it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Where in the output the agent's last words begin, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_words: Option<u64>,
    /// Whether the event of its end tells of files and failed calls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_details: bool,
    /// The notice that told its assigner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<MessageId>,
}

/// A question for permission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permission {
    /// Its id.
    pub id: PermissionId,
    /// Its place among all.
    pub seq: u64,
    /// What for.
    pub question: Question,
    /// What may be answered.
    pub offers: Vec<Decision>,
    /// When, in wall time.
    pub asked_ms: i64,
    /// How long it is open, in milliseconds.
    pub timeout_ms: u64,
    /// The notice that told an orchestrator.
    pub notice: Option<MessageId>,
    /// The answer.
    pub answer: Option<PermissionAnswer>,
}

/// What was said to a question for permission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionAnswer {
    /// What.
    pub decision: Decision,
    /// Who or what it comes from.
    pub by: Decider,
    /// The orchestrator that said it, or whose user did.
    pub name: Option<Name>,
}

/// The state of a bus after some entry of its log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The boot that deadlines count in.
    pub(crate) boot: u32,
    /// Every known name.
    pub(crate) members: BTreeMap<Name, Member>,
    /// Every live session.
    pub(crate) sessions: BTreeMap<SessionId, Session>,
    /// The last sessions that left, oldest first.
    pub(crate) departed: VecDeque<EndedSession>,
    /// Messages of interest, and the last ended ones.
    pub(crate) messages: Chunked<MessageId, Message>,
    pub(crate) ended_messages: VecDeque<MessageId>,
    /// Requests of interest, and the last ended ones.
    pub(crate) requests: Chunked<RequestId, Request>,
    pub(crate) ended_requests: VecDeque<RequestId>,
    #[serde(skip)]
    pub(crate) unanswered: Unanswered,
    /// Sessions that have not been shown yet all requests that were open when they came.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) newcomers: BTreeSet<SessionId>,
    /// Tasks of interest, and the last ended ones.
    pub(crate) tasks: Chunked<TaskId, Task>,
    pub(crate) ended_tasks: VecDeque<TaskId>,
    /// Questions for permission: the open ones, and the last answered.
    #[serde(default)]
    pub(crate) permissions: BTreeMap<PermissionId, Permission>,
    #[serde(default)]
    pub(crate) ended_permissions: VecDeque<PermissionId>,
    /// Workflows that have not ended, and the last ended ones.
    #[serde(default)]
    pub(crate) workflows: BTreeMap<WorkflowId, Workflow>,
    #[serde(default)]
    pub(crate) ended_workflows: VecDeque<WorkflowId>,
    /// The last commands, oldest first, and the same as a set.
    pub(crate) commands: VecDeque<CommandId>,
    #[serde(skip)]
    pub(crate) command_set: BTreeSet<CommandId>,
    /// What is due when.
    pub(crate) timers: Timers,
    /// How much time has passed, for what counts in days.
    #[serde(default)]
    pub(crate) watch: Watch,
    /// Names that nobody has now, and until when their mail waits, by the watch and by the wall clock.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) absent: BTreeMap<Name, i64>,
    /// Agents that were found dead, until nothing is left of them, with how they ran as far as that is known.
    #[serde(default)]
    pub(crate) unswept: BTreeMap<SessionId, Option<Run>>,
    /// The limits of the team.
    #[serde(default)]
    pub(crate) limits: TeamLimits,
}

impl State {
    /// Rebuilds what a snapshot leaves out because it follows from the rest.
    pub fn rebuild(&mut self) {
        self.command_set = self.commands.iter().copied().collect();
        self.rebuild_unanswered();
        self.rebuild_inboxes();
        self.rebuild_absent();
    }
}
