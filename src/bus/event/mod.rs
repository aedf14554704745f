//! The whole vocabulary of the log: every event that can ever happen on a bus.
//!
//! An event is a fact. It holds names, ids and texts, never its own place in the log. A changed event means a decision about
//! versions: new fields are optional, and a new kind that others may pass over says so by `"skip": true` in its body.

mod members;
mod messages;
mod requests;
mod tasks;
mod permissions;
mod workflows;
mod health;
mod addressees;
mod body;
mod entry;
mod skippable;
mod texts;

pub use self::addressees::Addressees;
pub use self::body::Body;
pub use self::entry::Entry;
pub use self::health::Runs;
pub use self::members::{Joined, Starting};
pub use self::messages::{AnswerWritten, MessageSent};
pub use self::permissions::{PermissionAnswered, PermissionAsked, Question};
pub use self::requests::{ProvenClaim, RequestOpened, UnheardClaim};
pub use self::skippable::Skip;
pub use self::tasks::{Finished, TaskAssigned, TaskReport};
pub use self::workflows::{
    Created, Resumed, StepApproved, StepAsked, StepEnded, StepReturned, StepSpread, StepStarted,
};

use serde::{Deserialize, Serialize};

use crate::domain::ids::{
    CallId, MessageId, PermissionId, RequestId, SessionId, TaskId, WorkflowId,
};
use crate::domain::limits::TeamLimits;
use crate::domain::member::{Activity, Departure, Tools};
use crate::domain::message::DeliveryMethod;
use crate::domain::name::Name;
use crate::domain::workflow::{StepStatus, WorkflowStatus};

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
