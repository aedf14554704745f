//! Every kind of event in the log, with the fields of the small ones.

use serde::{Deserialize, Serialize};

use super::{
    Addressees, AnswerWritten, ConflictMoved, ConflictOpened, ConflictOverruled, ConflictResolved,
    Created, Described, Finished, Followed, Joined, LaneMoved, LeadTaken, MessageAcknowledged,
    MessageHeld, MessageRelayed, MessageSent, PermissionAnswered, PermissionAsked, ProjectsListed,
    ProvenClaim, ReceiptsTold, RequestOpened, Resumed, Runs, Skip, Starting, StepApproved,
    StepAsked, StepEnded, StepExpanded, StepReturned, StepStarted, TaskAssigned, TaskPlaced,
    ThreadResolved, UnheardClaim,
};
use crate::domain::access_key::{KeyHash, KeyScope};
use crate::domain::ids::{
    CallId, KeyId, MessageId, PermissionId, RequestId, SessionId, TaskId, WorkflowId,
};
use crate::domain::is_zero::is_zero;
use crate::domain::limits::TeamLimits;
use crate::domain::member::{Activity, Departure, HostOffer, Label, Tools, Traits};
use crate::domain::messaging::{Arbiter, DeliveryMethod};
use crate::domain::name::Name;
use crate::domain::task::result::Usage;
use crate::domain::workflow::{StepStatus, WorkflowStatus};

/// A fact on the bus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// See [`Starting`].
    MemberStarting(Starting),
    /// See [`Joined`].
    MemberJoined(Joined),
    /// See [`Described`].
    MemberDescribed(Described),
    /// A session follows a topic from now on.
    TopicFollowed(Followed),
    /// A session no longer follows a topic.
    TopicLeft(Followed),
    /// A session owns a lane from now on.
    LaneClaimed(LaneMoved),
    /// A session no longer owns a lane, or no longer says that it does it.
    LaneReleased(LaneMoved),
    /// See [`LeadTaken`].
    LeadTaken(LeadTaken),
    /// The activity of an agent has changed.
    MemberActivity { session: SessionId, activity: Activity },
    /// It is known whether an agent has our tools.
    MemberTools { session: SessionId, tools: Tools },
    /// An agent now uses another model.
    MemberModel { session: SessionId, model: String },
    /// The bridge of an agent now delivers messages by these methods. Its tools have methods of their own.
    #[serde(rename = "member_ways")]
    MemberMethods {
        session: SessionId,
        /// The methods, in the order in which they are tried.
        #[serde(rename = "ways")]
        methods: Vec<DeliveryMethod>,
    },
    /// A session has ended.
    MemberLeft {
        session: SessionId,
        departure: Departure,
        /// Details for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        /// Of a dead session: when its presence or its task was last seen alive, in wall time, if that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        alive_ms: Option<i64>,
    },
    /// The mail of an absent name has reached its time limit.
    MemberForgotten { name: Name },
    /// See [`Runs`].
    AgentRuns(Runs),
    /// No process is left of an agent whose bridge died.
    AgentSwept { session: SessionId },
    /// A session shows signs of life: an agent in its turn, or a call that wrote nothing else.
    AgentStirred { session: SessionId },
    /// An agent has shown no sign of life in its turn for too long.
    AgentStalled { session: SessionId },
    /// An agent does not end a turn whose task was abandoned: it takes no work.
    AgentStuck {
        session: SessionId,
        /// Older versions still give it work.
        skip: Skip,
    },
    /// The turn of a stuck agent has ended after all.
    AgentFree { session: SessionId, skip: Skip },
    /// A turn of an agent has used what no task's report counts: a turn for messages, or one whose task could not report it.
    TurnUsed {
        session: SessionId,
        usage: Usage,
        /// Older versions do not count it.
        skip: Skip,
    },
    /// An agent's process has ended by itself and is started again: the session goes on.
    AgentCrashed { session: SessionId, detail: String },
    /// The heartbeat of a session stands still.
    MemberHung { session: SessionId },
    /// The heartbeat of a hung session moves again.
    MemberBack { session: SessionId },
    /// The limits have changed.
    LimitsSet(TeamLimits),
    /// Who decides disagreements, unless somebody can do what they are about, has changed.
    ArbiterSet { arbiter: Arbiter },
    /// See [`MessageSent`].
    MessageSent(MessageSent),
    /// A message is in further inboxes.
    MessageAddressed { id: MessageId, to: Addressees },
    /// Messages are delivered to one call of one session.
    MessageHanded {
        /// The messages, oldest first.
        ids: Vec<MessageId>,
        /// The owner of the inbox.
        member: Name,
        /// The session that receives them.
        session: SessionId,
        /// The call that carries them.
        call: CallId,
        #[serde(rename = "way")]
        method: DeliveryMethod,
    },
    /// The messages of a call are unread again.
    MessageReturned { session: SessionId, call: CallId },
    /// The model has received the answer of a call, with its messages and its claim.
    MessageSeen { session: SessionId, call: CallId },
    /// See [`MessageAcknowledged`].
    MessageAcknowledged(MessageAcknowledged),
    /// See [`ThreadResolved`].
    ThreadResolved(ThreadResolved),
    /// See [`AnswerWritten`].
    AnswerWritten(AnswerWritten),
    /// A message is withdrawn from these inboxes.
    MessageSuperseded { id: MessageId, members: Addressees },
    /// A message to this member is abandoned.
    MessageExpired { id: MessageId, member: Name },
    /// A message that waited for somebody who fits its address has ended without a reader.
    MessageUnclaimed { id: MessageId },
    /// The member that owes the answer to a message was reminded.
    MessageReminded { id: MessageId },
    /// The answer to a message is awaited no longer.
    MessageUnanswered { id: MessageId },
    /// See [`ConflictOpened`].
    ConflictOpened(ConflictOpened),
    /// See [`ConflictMoved`].
    ConflictMoved(ConflictMoved),
    /// See [`ConflictResolved`].
    ConflictResolved(ConflictResolved),
    /// See [`ConflictOverruled`].
    ConflictOverruled(ConflictOverruled),
    /// A call waits for a message.
    WaitStarted {
        session: SessionId,
        call: CallId,
        /// Only from this member.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<Name>,
        /// Only about this request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<RequestId>,
        /// Only an answer to this message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply_to: Option<MessageId>,
        /// The time limit, in milliseconds.
        timeout_ms: u64,
    },
    /// A call stops waiting without a message.
    WaitEnded { session: SessionId, call: CallId },
    /// See [`RequestOpened`].
    RequestOpened(RequestOpened),
    /// The members were reminded of an unclaimed request.
    RequestNudged { id: RequestId },
    /// A request has an owner.
    RequestClaimed {
        id: RequestId,
        by: Name,
        /// The owner's session, with which the claim ends.
        session: SessionId,
    },
    /// See [`UnheardClaim`].
    ClaimUnheard(UnheardClaim),
    /// See [`ProvenClaim`].
    ClaimKnown(ProvenClaim),
    /// A request is open again: its owner has left, has released it, gave no sign in the time of its lease, or never learned of its
    /// claim.
    RequestReopened {
        id: RequestId,
        /// How many of its owners were lost by now.
        #[serde(default, skip_serializing_if = "is_zero")]
        lost_owners: u32,
        /// Whether its owner has released it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        released: bool,
    },
    /// The lease of a claim runs anew: its owner gave a sign, or has renewed it.
    RequestRenewed {
        id: RequestId,
        /// The milliseconds until its owner is reminded.
        left_ms: u64,
    },
    /// The owner of a request was reminded of its lease, of which a third is left.
    RequestReminded { id: RequestId },
    /// The owner of a request has handed it over, and with it the claim.
    RequestHandedOver {
        id: RequestId,
        by: Name,
        to: Name,
        /// The new owner's session.
        session: SessionId,
    },
    /// A request has ended: its owner gave it up, or too many owners were lost.
    RequestFailed { id: RequestId },
    /// The owner has answered.
    RequestCompleted { id: RequestId, message: MessageId },
    /// A request has ended without an answer.
    RequestExpired { id: RequestId },
    /// A session starts agents on its machine for others, from now on.
    HostOffered { session: SessionId, offer: HostOffer, skip: Skip },
    /// See [`TaskPlaced`].
    TaskPlaced(TaskPlaced),
    /// A placed task waits no longer, and no agent does it.
    PlacementEnded {
        id: TaskId,
        /// The session that has asked.
        asker: SessionId,
        /// The reason, for whoever has asked.
        why: String,
        skip: Skip,
    },
    /// See [`TaskAssigned`].
    TaskAssigned(TaskAssigned),
    /// The turn of a task begins.
    TaskStarted { id: TaskId },
    /// A task continues in a resumed session.
    TaskResumed { id: TaskId },
    /// A member requests the end of a running task.
    TaskCancelAsked {
        id: TaskId,
        by: Name,
        /// Whether the person at the command line asks. Then `by` is the bridge that acts.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        human: bool,
    },
    /// See [`Finished`].
    TaskFinished(Finished),
    /// A member requests the end of an agent.
    StopAsked {
        session: SessionId,
        by: Name,
        /// Whether to kill it at once.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        kill: bool,
        /// Whether the person at the command line asks. Then `by` is the bridge that acts.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        human: bool,
    },
    /// See [`PermissionAsked`].
    PermissionAsked(PermissionAsked),
    /// An orchestrator was notified of a permission question.
    #[serde(rename = "permission_told")]
    PermissionNotified { id: PermissionId, notice: MessageId },
    /// See [`PermissionAnswered`].
    PermissionAnswered(PermissionAnswered),
    /// See [`Created`].
    WorkflowCreated(Created),
    /// See [`Resumed`].
    WorkflowResumed(Resumed),
    /// A member requests the end of a workflow.
    WorkflowCancelAsked {
        id: WorkflowId,
        by: Name,
        /// Whether the person at the command line asks. Then `by` is the member that leads it, or led it last.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        human: bool,
    },
    /// A workflow has ended.
    WorkflowEnded {
        id: WorkflowId,
        /// A final status.
        status: WorkflowStatus,
    },
    /// See [`StepAsked`].
    StepAsked(StepAsked),
    /// See [`StepApproved`].
    StepApproved(StepApproved),
    /// See [`StepStarted`].
    StepStarted(StepStarted),
    /// See [`StepExpanded`].
    #[serde(rename = "step_spread")]
    StepExpanded(StepExpanded),
    /// See [`StepReturned`].
    StepReturned(StepReturned),
    /// See [`StepEnded`].
    StepEnded(StepEnded),
    /// The person at the command line has made a key for the HTTP API.
    KeyMade {
        id: KeyId,
        /// The member that its bearer is.
        name: Name,
        scopes: Vec<KeyScope>,
        /// The secret itself is stored nowhere.
        hash: KeyHash,
        /// The roles of that member.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        roles: Vec<Label>,
        /// What else it says of itself.
        #[serde(default, skip_serializing_if = "Traits::are_none")]
        traits: Traits,
        /// Older versions serve no API.
        skip: Skip,
    },
    /// A key is no longer valid.
    KeyRevoked { id: KeyId, skip: Skip },
    /// A webhook got the message of this seq, or the one after it is the first that it gets.
    WebhookSent {
        name: Label,
        seq: u64,
        /// Older versions have no webhooks.
        skip: Skip,
    },
    /// See [`ProjectsListed`].
    ProjectsListed(ProjectsListed),
    /// See [`MessageRelayed`].
    MessageRelayed(MessageRelayed),
    /// See [`MessageHeld`].
    MessageHeld(MessageHeld),
    /// See [`ReceiptsTold`].
    ReceiptsTold(ReceiptsTold),
    /// A segment could not be synced. The lines before this event are a copy of it.
    SegmentFailed {
        /// The first seq of the segment.
        segment: u64,
    },
}

impl Event {
    /// Says whether the event merely marks progress: if a power cut loses it, the step is repeated and no data is lost.
    pub(in crate::bus) fn is_progress(&self) -> bool {
        matches!(
            self,
            Self::AgentStalled { .. }
                | Self::AgentStirred { .. }
                | Self::AgentSwept { .. }
                | Self::MemberActivity { .. }
                | Self::MemberModel { .. }
                | Self::MemberTools { .. }
                | Self::MemberMethods { .. }
                | Self::TurnUsed { .. }
                | Self::MessageHanded { .. }
                | Self::MessageReturned { .. }
                | Self::MessageSeen { .. }
                | Self::AnswerWritten(_)
                // These follow from the ends of tasks, and are derived again. The refusal of an approval is not.
                | Self::StepReturned(_)
                | Self::StepEnded(StepEnded {
                    status: StepStatus::Done,
                    ..
                })
                | Self::WaitStarted { .. }
                | Self::WaitEnded { .. }
                | Self::WebhookSent { .. }
        )
    }

    /// Says whether the event changes the list of live members.
    pub fn changes_roster(&self) -> bool {
        matches!(self, Self::MemberStarting(_) | Self::MemberJoined(_) | Self::MemberLeft { .. })
    }

    /// Returns the workflow and the step that the event changes, if it changes one.
    pub fn step_of(&self) -> Option<(&WorkflowId, &Name)> {
        match self {
            Self::StepAsked(event) => Some((&event.workflow, &event.step)),
            Self::StepApproved(event) => Some((&event.workflow, &event.step)),
            Self::StepStarted(event) => Some((&event.workflow, &event.step)),
            Self::StepExpanded(event) => Some((&event.workflow, &event.step)),
            Self::StepReturned(event) => Some((&event.workflow, &event.step)),
            Self::StepEnded(event) => Some((&event.workflow, &event.step)),
            _ => None,
        }
    }
}
