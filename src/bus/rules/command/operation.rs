//! A command and its operation: the list of everything that a process can ask of the bus.

use super::crossing::Crossing;
use super::inputs::{
    Approval, Broken, ClaimUpdate, DeadSession, Ending, HumanWish, NewAgent, NewItems, NewMember,
    NewPlacement, NewQuestion, NewTask, NewWorkflow, PermissionReply, Pick,
};
use crate::bus::event::{Body, Envelope, Question, Runs};
use crate::domain::ids::{
    CallId, CommandId, MessageId, PermissionId, RequestId, SessionId, TaskId, WorkflowId,
};
use crate::domain::limits::TeamLimits;
use crate::domain::member::{Activity, Departure, HostOffer, Label, Tools};
use crate::domain::messaging::{Acknowledgement, DeliveryMethod, Priority, Urgency};
use crate::domain::name::Name;
use crate::domain::permission::Decision;
use crate::domain::task::TaskError;
use crate::domain::task::result::Usage;
use crate::domain::workflow::{StepMove, StepOf};

/// One command: an operation, and the session that asks for it.
#[derive(Clone, Debug)]
pub struct Command {
    /// Each retry of a command has the same id.
    pub id: CommandId,
    /// The session that asks; none for overdue work.
    pub by: Option<SessionId>,
    /// Earlier calls of that session whose answers its model has received, as this new call proves.
    pub received: Vec<CallId>,
    pub operation: Operation,
}

/// One thing that a process can ask of the bus.
#[derive(Clone, Debug)]
pub enum Operation {
    /// Writes overdue work only.
    Due,
    /// Notifies this orchestrator of tasks that ended in its absence, if the append with which it joined had no room for all.
    NotifyOfEndedTasks(SessionId),
    /// Reports that an agent does not end a turn whose task was abandoned, and ends the tasks in its queue.
    Stuck(SessionId),
    /// Reports that such a turn has ended after all.
    Free(SessionId),
    /// Only records the calls in [`Command::received`].
    Received,
    /// A peer or an orchestrator joins.
    Join(Box<NewMember>),
    /// A bridge is about to start an agent, with its first task.
    Start(Box<NewAgent>, Option<NewTask>),
    /// A bridge reports that its agent is ready.
    Ready { session: SessionId, model: Option<String>, pid: u32 },
    /// A bridge reports the methods by which it can deliver messages to its agent.
    DeliveryMethods { session: SessionId, methods: Vec<DeliveryMethod> },
    /// A bridge reports the activity of its agent.
    Activity { session: SessionId, activity: Activity },
    /// A bridge reports that its agent uses another model.
    Model { session: SessionId, model: String },
    /// A bridge reports what a turn of its agent has used that no task's report counts.
    TurnUsed { session: SessionId, usage: Usage },
    /// A process of an agent reports whether the agent has our tools.
    Tools { session: SessionId, tools: Tools },
    /// A session ends: the caller's, or that of an agent of this bridge.
    Leave {
        session: SessionId,
        departure: Departure,
        /// An explanation of the departure.
        detail: Option<String>,
    },
    /// An agent of this bridge could not start or begin a task, and leaves; the tasks that it never began fail with the error.
    Fail {
        session: SessionId,
        /// An explanation of the departure.
        detail: Option<String>,
        error: Box<TaskError>,
    },
    /// These sessions are dead: no process holds their presence.
    Reap(Vec<DeadSession>),
    /// A bridge reports the processes of its agent.
    Runs(Box<Runs>),
    /// All processes of a dead agent have ended.
    Swept(SessionId),
    /// A session shows signs of life: an agent whose bridge reports it, or the caller by a call that wrote nothing else.
    Stir(SessionId),
    /// A bridge reports that its agent has shown no sign of life in its turn for this time, in milliseconds.
    Stall(SessionId, u64),
    /// A bridge reports that its agent's process has ended and is being restarted.
    Crash {
        session: SessionId,
        detail: String,
        /// The status of its running task.
        task: Broken,
    },
    /// A process has seen no heartbeat of these sessions for this time, in milliseconds.
    Hung(Vec<SessionId>, u64),
    /// The heartbeats of these sessions have returned.
    Back(Vec<SessionId>),
    /// An orchestrator reports the limits of its configuration.
    Limit(TeamLimits),
    /// Sends a message to one member or to a group.
    Send {
        /// The address, as the caller wrote it.
        to: String,
        body: Body,
        /// The message or request that it answers, as the caller wrote it.
        reply_to: Option<String>,
        /// Its urgency for a member that works on something else.
        priority: Priority,
        /// What few messages have.
        more: Option<Box<Envelope>>,
    },
    /// Sends a message to everyone.
    Broadcast(Body),
    /// The session follows a topic from now on.
    FollowTopic(Label),
    /// The session no longer follows a topic.
    LeaveTopic(Label),
    /// Makes the session the owner of a lane that nobody owns.
    ClaimLane(Label),
    /// The client of a session did not get the answer to its claim of a lane: it is released, if it was claimed.
    LoseLane(Label),
    /// Gives up a lane that the session owns, or says it does.
    ReleaseLane(Label),
    /// Delivers unread messages by a call.
    Take {
        /// The recipient: the caller's session, or an agent of this bridge.
        session: SessionId,
        /// The call that carries them.
        call: CallId,
        method: DeliveryMethod,
        pick: Pick,
    },
    /// Marks the messages of a call as seen, or requeues them.
    Settle {
        /// The session of the call: the caller's, or that of an agent of this bridge.
        session: SessionId,
        call: CallId,
        /// Whether the model has received them.
        seen: bool,
    },
    /// The caller has named a message by its id. That proves one that was pushed to it.
    Named(MessageId),
    /// The recipient of these messages says what has become of them.
    Acknowledge { ids: Vec<MessageId>, status: Acknowledgement, note: Option<String> },
    /// Reports that the answer of a call, with its messages, has been written to its client.
    AnswerWritten(CallId),
    /// Reports that these hook calls have ended: requeues the messages that they have not printed.
    EndHooks(Vec<CallId>),
    /// A bridge reports that its agent's turn is over, and with it the calls of our tools: some agents let these run on, and do
    /// not read their answers. Requeues their messages that nothing proves to be seen.
    EndCalls(SessionId),
    /// Begins to wait, unless a fitting message is already unread.
    Wait {
        call: CallId,
        /// Only from this member.
        from: Option<Name>,
        /// Only about this request.
        request: Option<RequestId>,
        /// Only an answer to this message of the caller's own.
        reply_to: Option<MessageId>,
        /// In milliseconds. Zero looks once.
        timeout_ms: u64,
    },
    /// Stops waiting. Refused with `AlreadyDelivered` if the call got a message.
    EndWait { call: CallId },
    Open {
        description: Body,
        context: Option<Body>,
        /// Who alone sees and may claim it, as the caller wrote the address; everybody if it is missing.
        to: Option<String>,
        /// Milliseconds to the nudge.
        nudge_ms: u64,
        /// Milliseconds of open time.
        ttl_ms: u64,
        /// Milliseconds for which a claim lasts without a sign of its owner; none for as long as its session lives.
        lease_ms: Option<u64>,
        /// How much it matters, if that is more or less than usual.
        urgency: Option<Urgency>,
    },
    /// The owner of a request does something with its claim.
    UpdateClaim(RequestId, ClaimUpdate),
    /// Claims a request. The claimer learns of it from the answer of this call.
    Claim(RequestId, CallId),
    /// Releases a claim because the claimer did not get the answer of this call, unless it knows of the claim by other means.
    Release(RequestId, CallId),
    /// A host's bridge offers to start agents for others.
    Offer(HostOffer),
    /// Asks a host to start an agent for a task.
    Place(Box<NewPlacement>),
    /// The host, or whoever asked, ends the waiting of a placed task, with the reason.
    EndPlacement(TaskId, String),
    /// Assigns work to a live agent.
    Assign { session: SessionId, task: NewTask },
    /// A bridge begins the turn of a task.
    StartTask(TaskId),
    /// A bridge continues the task of an agent that it has restarted.
    ResumeTask(TaskId),
    /// A bridge reports the end of a task.
    FinishTask(TaskId, Box<Ending>),
    /// A member cancels a task: a queued one ends at once, a running one by its bridge.
    CancelTask(TaskId),
    /// The answer of this call brings the result of a task to its assigner, and with it the notice of the task's end.
    TakeNotice(CallId, TaskId),
    /// A bridge reports that its agent asks for permission.
    AskPermission(Box<NewQuestion>),
    /// A bridge records the answer of a policy, and the number of such questions if there were several.
    RecordPermission(Box<Question>, Decision, Option<u64>),
    /// An orchestrator, or its user, answers a permission question.
    AnswerPermission(PermissionId, PermissionReply),
    /// Notifies an orchestrator of a question that the user did not answer.
    NotifyOfPermission(PermissionId),
    /// A bridge reports that its agent no longer waits for these answers.
    EndPermissions { session: SessionId, ids: Vec<PermissionId> },
    /// An orchestrator begins to lead a workflow.
    CreateWorkflow(Box<NewWorkflow>),
    /// The leader of a workflow moves its steps, in this order.
    MoveSteps(WorkflowId, Vec<(Name, StepMove)>),
    /// The leader of a workflow expands a step for the items of a list.
    ExpandStep(StepOf, NewItems),
    /// An orchestrator cancels a workflow.
    CancelWorkflow(WorkflowId),
    /// An orchestrator approves a step, or refuses it.
    ApproveStep(StepOf, Approval),
    /// An orchestrator takes over an interrupted workflow.
    ResumeWorkflow(WorkflowId),
    /// Those who lead report the message that a webhook got last, or behind which it begins.
    WebhookSent(Label, u64),
    /// Something about messages from project to project.
    Crossing(Crossing),
    /// A member asks the bridge of an agent to stop it.
    Stop {
        /// The agent's name, as the caller wrote it.
        agent: String,
        /// For the agent to read.
        reason: Option<String>,
        /// Whether to stop it at once, by signals.
        kill: bool,
    },
    /// The person at the command line asks for something. No session asks it.
    ByHuman(HumanWish),
}

impl Operation {
    /// Says whether it says how something shall stand, so that it is decided by how that stands now, also if it is repeated.
    pub(in crate::bus) fn is_decided_anew(&self) -> bool {
        matches!(
            self,
            Self::FollowTopic(_)
                | Self::LeaveTopic(_)
                | Self::ClaimLane(_)
                | Self::LoseLane(_)
                | Self::Acknowledge { .. }
                | Self::Claim(..)
        )
    }

    /// Says whether the name that a program gives to its request is that of this operation: a request has one of these at most.
    pub(in crate::bus) fn is_what_was_asked_for(&self) -> bool {
        matches!(
            self,
            Self::Send { .. }
                | Self::Broadcast(_)
                | Self::Open { .. }
                | Self::UpdateClaim(..)
                | Self::Assign { .. }
                | Self::Place(_)
                | Self::CreateWorkflow(_)
        )
    }

    /// Says whether it begins, changes or ends what a member owns.
    pub(in crate::bus) fn changes_what_is_owned(&self) -> bool {
        matches!(
            self,
            Self::ClaimLane(_)
                | Self::LoseLane(_)
                | Self::ReleaseLane(_)
                | Self::UpdateClaim(..)
                | Self::Claim(..)
                | Self::Release(..)
        )
    }

    /// Returns the texts that members wrote, which may be long.
    pub(in crate::bus) fn texts_mut(&mut self) -> Vec<&mut Body> {
        match self {
            Self::Start(_, Some(task)) | Self::Assign { task, .. } => vec![&mut task.prompt],
            Self::Place(new) => vec![&mut new.task.prompt],
            Self::Send { body, .. }
            | Self::Broadcast(body)
            | Self::ByHuman(HumanWish::Send { body, .. }) => vec![body],
            Self::Open { description, context, .. } => {
                std::iter::once(description).chain(context).collect()
            }
            Self::Crossing(Crossing::Arrive(arriving)) => vec![&mut arriving.body],
            Self::UpdateClaim(_, update) => update.text_mut().into_iter().collect(),
            Self::FinishTask(_, ending) => {
                let details = ending.report.details.as_mut();
                std::iter::once(&mut ending.output).chain(details).collect()
            }
            Self::CreateWorkflow(new) => vec![&mut new.prompts],
            Self::ExpandStep(_, new) => vec![&mut new.items],
            // The other operations have no text, or a short one of ours.
            _ => Vec::new(),
        }
    }
}
