//! The whole vocabulary of the log: every event that can ever happen on a bus.
//!
//! An event is a fact. It holds names, ids and texts, never its own place in the log. A changed event means a decision about
//! versions: new fields are optional, and a new kind that others may pass over says so by `"skip": true` in its body.

mod addressees;
mod task_ending;
mod entry;
mod skippable;
mod texts;
mod unheard_claims;
mod workflows;
mod answer_written;

use serde::{Deserialize, Serialize};

pub use self::addressees::Addressees;
pub use self::answer_written::AnswerWritten;
pub use self::entry::{BodyRef, Entry, LogPosition, Proposal};
pub use self::skippable::Skip;
pub use self::task_ending::{Finished, TaskReport};
pub use self::unheard_claims::{ProvenClaim, UnheardClaim};
pub use self::workflows::{
    Created, Resumed, StepApproved, StepAsked, StepEnded, StepReturned, StepSpread, StepStarted,
};

use crate::domain::ids::{
    CallId, MessageId, PermissionId, RequestId, SessionId, TaskId, WorkflowId,
};
use crate::domain::limits::TeamLimits;
use crate::domain::member::{Activity, Departure, MemberKind, ProcessMark, Tools};
use crate::domain::messaging::{Audience, Author, DeliveryMethod, MessageKind, Priority};
use crate::domain::name::Name;
use crate::domain::permission::{Decider, Decision, Policy};
use crate::domain::workflow::{StepStatus, WorkflowStatus};

/// A text of somebody: in the event itself, or in a blob when it is long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// The text itself.
    Text(String),
    /// Where the text is.
    Blob {
        /// The name of the blob.
        id: uuid::Uuid,
        /// The length of the text in bytes.
        bytes: u64,
    },
}

impl Body {
    /// Returns the length of the text in bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            Self::Blob { bytes, .. } => *bytes,
        }
    }
}

/// An agent is about to be started by a bridge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Starting {
    /// The life that begins.
    pub session: SessionId,
    /// Its name.
    pub name: Name,
    /// Whether somebody chose the name, so that its mail waits for its return.
    pub chosen: bool,
    /// The profile it is started from.
    pub profile: String,
    /// The model asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where it works.
    pub cwd: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// The session of the bridge that holds it.
    pub owner: SessionId,
    /// SHA-256 of the token that its endpoints must show, as 64 hex digits.
    pub token_hash: String,
}

/// A member is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joined {
    /// The life that begins, or that `Starting` announced.
    pub session: SessionId,
    /// Its name.
    pub name: Name,
    /// Whether somebody chose the name.
    pub chosen: bool,
    /// What kind of member it is.
    pub kind: MemberKind,
    /// The model it says it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// Its process, for people.
    pub pid: u32,
    /// The process that its server serves, as far as known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ProcessMark>,
}

/// The processes of an agent, so that what is left of it can be found when its bridge is dead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runs {
    /// Whose.
    pub session: SessionId,
    /// The agent itself.
    pub agent: ProcessMark,
    /// The process that guards it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shim: Option<ProcessMark>,
    /// The agent's own id of its ACP session, once it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acp_session: Option<String>,
    /// Which bus directory they were started for, as device and inode: a copy of this log names processes of another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// A message is on the bus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageSent {
    /// Its id.
    pub id: MessageId,
    /// What it is.
    pub kind: MessageKind,
    /// Who speaks.
    pub from: Author,
    /// Whom it is shown to be for.
    pub audience: Audience,
    /// Whose inboxes it is in.
    pub to: Addressees,
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
    /// The first message of its thread; itself when it begins one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<MessageId>,
    /// The tasks of whose ends it tells, in the place of the notice about each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ends: Vec<TaskId>,
    /// How much it matters to who works on something else.
    #[serde(default, skip_serializing_if = "Priority::is_normal")]
    pub priority: Priority,
    /// What it says.
    pub body: Body,
}

/// A request is open, and its message is in the inboxes of `to`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestOpened {
    /// Its id.
    pub id: RequestId,
    /// The id of the message that shows it.
    pub message: MessageId,
    /// Who asks.
    pub from: Name,
    /// Who was live.
    pub to: Addressees,
    /// What needs doing.
    pub description: Body,
    /// What is known so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Body>,
    /// Milliseconds after which an unclaimed request is nudged.
    pub nudge_ms: u64,
    /// Milliseconds of open time after which it expires.
    pub ttl_ms: u64,
}

/// Work is given to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskAssigned {
    /// Its id.
    pub id: TaskId,
    /// The agent's session.
    pub session: SessionId,
    /// The agent's name.
    pub agent: Name,
    /// Who assigned it.
    pub by: Name,
    /// What to do.
    pub prompt: Body,
    /// The model asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether it begins a new session of the agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// What the agent may do in it; the profile says so where the task does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Policy>,
    /// The workflow whose step it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<WorkflowId>,
}

/// What an agent wants to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The agent's session.
    pub session: SessionId,
    /// The agent's name.
    pub agent: Name,
    /// The task in whose turn it asks; none in a turn with mail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The kind of the tool, in ACP's words.
    pub kind: String,
    /// What people are shown, in the agent's words.
    pub title: String,
    /// The places that it is about, as the agent names them, and where they lead if that is elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

/// An agent asks for permission, and waits for the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionAsked {
    /// Its id.
    pub id: PermissionId,
    /// What for.
    pub question: Question,
    /// What may be answered.
    pub offers: Vec<Decision>,
    /// Milliseconds after which it is answered with no.
    pub timeout_ms: u64,
}

/// A question for permission has its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionAnswered {
    /// Which.
    pub id: PermissionId,
    /// What was said.
    pub decision: Decision,
    /// Who or what it comes from.
    pub by: Decider,
    /// The orchestrator that said it, or whose user did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name>,
    /// The question, where nobody had to be asked: then this is all there is of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    /// How many questions this stands for, where they are several; `question` is the last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
}

/// A fact on the bus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// See [`Starting`].
    MemberStarting(Starting),
    /// See [`Joined`].
    MemberJoined(Joined),
    /// An agent does something else now.
    MemberActivity {
        /// Whose.
        session: SessionId,
        /// What.
        activity: Activity,
    },
    /// It is known whether an agent has our tools.
    MemberTools {
        /// Whose.
        session: SessionId,
        /// Whether.
        tools: Tools,
    },
    /// An agent uses another model now.
    MemberModel {
        /// Whose.
        session: SessionId,
        /// Which.
        model: String,
    },
    /// The bridge of an agent hands it messages by these ways now; its tools have ways of their own.
    MemberWays {
        /// Whose.
        session: SessionId,
        /// Which, the first to be tried first.
        ways: Vec<DeliveryMethod>,
    },
    /// A session has ended.
    MemberLeft {
        /// Which.
        session: SessionId,
        /// Why.
        departure: Departure,
        /// What there is to say about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// The time to wait for the return of a name is over.
    MemberForgotten {
        /// Which name.
        name: Name,
    },
    /// See [`Runs`].
    AgentRuns(Runs),
    /// Nothing is left of an agent whose bridge died.
    AgentSwept {
        /// Which.
        session: SessionId,
    },
    /// An agent shows signs of life.
    AgentStirred {
        /// Which.
        session: SessionId,
    },
    /// An agent has shown no sign of life in its turn for too long.
    AgentStalled {
        /// Which.
        session: SessionId,
    },
    /// An agent does not end a turn whose task was given up: it takes no work.
    AgentStuck {
        /// Which.
        session: SessionId,
        /// Older versions give it work, as they always did.
        skip: Skip,
    },
    /// The turn of a stuck agent has ended after all.
    AgentFree {
        /// Which.
        session: SessionId,
        /// As above.
        skip: Skip,
    },
    /// An agent's process has ended by itself and is started again: the session goes on.
    AgentCrashed {
        /// Which.
        session: SessionId,
        /// How it ended.
        detail: String,
    },
    /// Somebody has watched the heartbeat of a session stand still.
    MemberHung {
        /// Which.
        session: SessionId,
    },
    /// The heartbeat of a hung session moves again.
    MemberBack {
        /// Which.
        session: SessionId,
    },
    /// The limits are others now.
    LimitsSet(TeamLimits),
    /// See [`MessageSent`].
    MessageSent(MessageSent),
    /// A message is in further inboxes.
    MessageAddressed {
        /// Which.
        id: MessageId,
        /// Whose.
        to: Addressees,
    },
    /// Messages are given to one call of one session.
    MessageHanded {
        /// Which, oldest first.
        ids: Vec<MessageId>,
        /// Whose inbox they come from.
        member: Name,
        /// The session that takes them.
        session: SessionId,
        /// The call that carries them.
        call: CallId,
        /// How.
        way: DeliveryMethod,
    },
    /// What a call was handed is unread again.
    MessageReturned {
        /// The session.
        session: SessionId,
        /// The call.
        call: CallId,
    },
    /// What a call was handed has been taken by the model, and so has what else its answer told.
    MessageSeen {
        /// The session.
        session: SessionId,
        /// The call.
        call: CallId,
    },
    /// See [`AnswerWritten`].
    AnswerWritten(AnswerWritten),
    /// A message need not be seen any more by these.
    MessageSuperseded {
        /// Which.
        id: MessageId,
        /// By whom.
        members: Addressees,
    },
    /// A message will not be seen any more by this member.
    MessageExpired {
        /// Which.
        id: MessageId,
        /// By whom.
        member: Name,
    },
    /// A call waits for a message.
    WaitStarted {
        /// The session.
        session: SessionId,
        /// The call.
        call: CallId,
        /// Only from this member.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<Name>,
        /// Only about this request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<RequestId>,
        /// How long at the most, in milliseconds.
        timeout_ms: u64,
    },
    /// A call waits no longer, and has nothing.
    WaitEnded {
        /// The session.
        session: SessionId,
        /// The call.
        call: CallId,
    },
    /// See [`RequestOpened`].
    RequestOpened(RequestOpened),
    /// An unclaimed request was brought to mind.
    RequestNudged {
        /// Which.
        id: RequestId,
    },
    /// A request has an owner.
    RequestClaimed {
        /// Which.
        id: RequestId,
        /// The owner.
        by: Name,
        /// The owner's session, with which the claim ends.
        session: SessionId,
    },
    /// See [`UnheardClaim`].
    ClaimUnheard(UnheardClaim),
    /// See [`ProvenClaim`].
    ClaimKnown(ProvenClaim),
    /// A request's owner is gone, or was never told of its claim.
    RequestReopened {
        /// Which.
        id: RequestId,
    },
    /// The owner has answered.
    RequestCompleted {
        /// Which.
        id: RequestId,
        /// The answer.
        message: MessageId,
    },
    /// Nobody answers a request any more.
    RequestExpired {
        /// Which.
        id: RequestId,
    },
    /// See [`TaskAssigned`].
    TaskAssigned(TaskAssigned),
    /// A task's turn begins.
    TaskStarted {
        /// Which.
        id: TaskId,
    },
    /// A task goes on in a session that was taken up again.
    TaskResumed {
        /// Which.
        id: TaskId,
    },
    /// Somebody asks for the end of a running task.
    TaskCancelAsked {
        /// Which.
        id: TaskId,
        /// Who.
        by: Name,
    },
    /// See [`Finished`].
    TaskFinished(Finished),
    /// Somebody asks for the end of an agent.
    StopAsked {
        /// Whose.
        session: SessionId,
        /// Who.
        by: Name,
        /// Whether at once, by signals.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        kill: bool,
    },
    /// See [`PermissionAsked`].
    PermissionAsked(PermissionAsked),
    /// A message tells an orchestrator of a question.
    PermissionTold {
        /// Which question.
        id: PermissionId,
        /// The message.
        notice: MessageId,
    },
    /// See [`PermissionAnswered`].
    PermissionAnswered(PermissionAnswered),
    /// See [`Created`].
    WorkflowCreated(Created),
    /// See [`Resumed`].
    WorkflowResumed(Resumed),
    /// Somebody asks for the end of a workflow.
    WorkflowCancelAsked {
        /// Which.
        id: WorkflowId,
        /// Who.
        by: Name,
    },
    /// Nothing more happens in a workflow.
    WorkflowEnded {
        /// Which.
        id: WorkflowId,
        /// How: a final status.
        status: WorkflowStatus,
    },
    /// See [`StepAsked`].
    StepAsked(StepAsked),
    /// See [`StepApproved`].
    StepApproved(StepApproved),
    /// See [`StepStarted`].
    StepStarted(StepStarted),
    /// See [`StepSpread`].
    StepSpread(StepSpread),
    /// See [`StepReturned`].
    StepReturned(StepReturned),
    /// See [`StepEnded`].
    StepEnded(StepEnded),
    /// A segment could not be synced; what stands before this is a copy of it.
    SegmentFailed {
        /// The first seq of the segment.
        segment: u64,
    },
}

impl Event {
    /// Says whether the event only marks progress: losing it in a power cut repeats something, and loses nothing.
    pub fn is_progress(&self) -> bool {
        matches!(
            self,
            Self::AgentStalled { .. }
                | Self::AgentStirred { .. }
                | Self::AgentSwept { .. }
                | Self::MemberActivity { .. }
                | Self::MemberModel { .. }
                | Self::MemberTools { .. }
                | Self::MemberWays { .. }
                | Self::MessageHanded { .. }
                | Self::MessageReturned { .. }
                | Self::MessageSeen { .. }
                | Self::AnswerWritten(_)
                // They follow from how tasks ended, and are found again. What somebody refused does not.
                | Self::StepReturned(_)
                | Self::StepEnded(StepEnded {
                    status: StepStatus::Done,
                    ..
                })
                | Self::WaitStarted { .. }
                | Self::WaitEnded { .. }
        )
    }

    /// Says whether the event changes who is here.
    pub fn changes_roster(&self) -> bool {
        matches!(self, Self::MemberStarting(_) | Self::MemberJoined(_) | Self::MemberLeft { .. })
    }
}
