//! A command and its operation: the list of everything that can be asked of a bus.

use super::inputs::{
    Approval, Broken, Ending, NewAgent, NewItems, NewMember, NewQuestion, NewTask, NewWorkflow,
    PermissionReply, Pick,
};
use crate::bus::event::{Body, Question, Runs};
use crate::domain::ids::{
    CallId, CommandId, PermissionId, RequestId, SessionId, TaskId, WorkflowId,
};
use crate::domain::limits::TeamLimits;
use crate::domain::member::{Activity, Departure, Tools};
use crate::domain::messaging::{DeliveryMethod, Priority};
use crate::domain::name::Name;
use crate::domain::permission::Decision;
use crate::domain::workflow::{StepMove, StepOf};

/// One command: an operation, and the session that asks for it.
#[derive(Clone, Debug)]
pub struct Command {
    /// The same id is the same command, however often it is tried.
    pub id: CommandId,
    /// The session that asks; none for what is merely due.
    pub by: Option<SessionId>,
    /// Earlier calls of that session whose answers its model has received, as this new call proves.
    pub received: Vec<CallId>,
    /// What it asks for.
    pub operation: Operation,
}

/// One thing that can be asked of a bus.
#[derive(Clone, Debug)]
pub enum Operation {
    /// Writes what is due.
    Due,
    /// Notifies this orchestrator of tasks that ended while it was away, if the append with which it joined had no room for that.
    NotifyOfEndedTasks(SessionId),
    /// Says that an agent does not end a turn whose task was abandoned, and ends the tasks that wait behind it.
    Stuck(SessionId),
    /// Says that such a turn has ended after all.
    Free(SessionId),
    /// Notes that this session's model has received its messages, and nothing else.
    Received,
    /// A peer or an orchestrator joins.
    Join(Box<NewMember>),
    /// A bridge is about to start an agent, with its first task.
    Start(Box<NewAgent>, Option<NewTask>),
    /// A bridge says that its agent is there.
    Ready {
        session: SessionId,
        /// The model it uses.
        model: Option<String>,
        pid: u32,
    },
    /// A bridge says by which methods it delivers messages to its agent.
    DeliveryMethods { session: SessionId, methods: Vec<DeliveryMethod> },
    /// A bridge says what its agent does.
    Activity { session: SessionId, activity: Activity },
    /// A bridge says that its agent uses another model.
    Model { session: SessionId, model: String },
    /// A process of an agent says whether the agent has our tools.
    Tools { session: SessionId, tools: Tools },
    /// A session ends: its own, or an agent of this bridge.
    Leave {
        session: SessionId,
        departure: Departure,
        /// What there is to say about it.
        detail: Option<String>,
    },
    /// These sessions have left: no process holds their presence.
    Reap(Vec<SessionId>),
    /// A bridge says which processes its agent has.
    Runs(Box<Runs>),
    /// No process is left of an agent that was found dead.
    Swept(SessionId),
    /// A bridge says that its agent shows signs of life.
    Stir(SessionId),
    /// A bridge says that its agent has shown no sign of life in its turn for so long, in milliseconds.
    Stall(SessionId, u64),
    /// A bridge says that its agent's process has ended and is started again.
    Crash {
        session: SessionId,
        detail: String,
        /// What becomes of the task in its turn.
        task: Broken,
    },
    /// A process has watched the heartbeats of these sessions stand still for so long, in milliseconds.
    Hung(Vec<SessionId>, u64),
    /// The heartbeats of these sessions move again.
    Back(Vec<SessionId>),
    /// An orchestrator's configuration has these limits.
    Limit(TeamLimits),
    /// Sends a message to one member.
    Send {
        /// To whom, as it was written.
        to: String,
        body: Body,
        /// The message or request that it answers, as it was written.
        reply_to: Option<String>,
        /// How urgent it is for a member that works on something else.
        priority: Priority,
    },
    /// Sends a message to everyone.
    Broadcast(Body),
    /// Delivers unread messages by a call.
    Take {
        /// Whose: its own session, or an agent of this bridge.
        session: SessionId,
        /// The call that carries them.
        call: CallId,
        way: DeliveryMethod,
        /// Which, and how many.
        pick: Pick,
    },
    /// Says what became of the messages of a call: read, or to be requeued.
    Settle {
        /// Whose call: its own session's, or an agent's of this bridge.
        session: SessionId,
        call: CallId,
        /// Whether the model has received them.
        seen: bool,
    },
    /// Says that the answer of a call, with its messages, has been written to its client.
    AnswerWritten(CallId),
    /// Says that these calls of hooks have ended: the messages that they have not printed are requeued.
    EndHooks(Vec<CallId>),
    /// A bridge says that its agent's turn is over, and with it the calls of our tools: some agents let them run on, and do not
    /// read their answers. Their messages are requeued unless something proves that they were read.
    EndCalls(SessionId),
    /// Begins to wait, unless a fitting message is there already.
    Wait {
        call: CallId,
        /// Only from this member.
        from: Option<Name>,
        /// Only about this request.
        request: Option<RequestId>,
        /// How long, in milliseconds. Zero looks once.
        timeout_ms: u64,
    },
    /// Stops waiting. Refused with `AlreadyHanded` if a message was delivered.
    EndWait { call: CallId },
    Open {
        description: Body,
        /// What is known so far.
        context: Option<Body>,
        /// Milliseconds to the nudge.
        nudge_ms: u64,
        /// Milliseconds of open time.
        ttl_ms: u64,
    },
    /// Claims a request. The answer of this call tells the claimer.
    Claim(RequestId, CallId),
    /// Releases a claim because its claimer did not get the answer of this call, unless it knows of the claim otherwise.
    Release(RequestId, CallId),
    /// Assigns work to a live agent.
    Assign { session: SessionId, task: NewTask },
    /// A bridge begins the turn of a task.
    StartTask(TaskId),
    /// A bridge goes on with the task of an agent that was started again.
    ResumeTask(TaskId),
    /// A bridge says how a task ended.
    FinishTask(TaskId, Box<Ending>),
    /// A member asks for the end of a task.
    CancelTask(TaskId),
    /// The answer of this call brings the result of a task to its assigner. The notice of its end goes with it.
    TakeNotice(CallId, TaskId),
    /// A bridge says that its agent asks for permission.
    AskPermission(Box<NewQuestion>),
    /// A bridge records what a policy answered to its agent, and to how many such questions if there were several.
    RecordPermission(Box<Question>, Decision, Option<u64>),
    /// An orchestrator, or its user, answers a question for permission.
    AnswerPermission(PermissionId, PermissionReply),
    /// The user did not answer: an orchestrator is notified of the question.
    TellPermission(PermissionId),
    /// A bridge says that its agent no longer waits for these answers.
    EndPermissions { session: SessionId, ids: Vec<PermissionId> },
    /// An orchestrator begins to lead a workflow.
    CreateWorkflow(Box<NewWorkflow>),
    /// The leader of a workflow says what happens to its steps, in this order.
    MoveSteps(WorkflowId, Vec<(Name, StepMove)>),
    /// The leader of a workflow expands a step for the items of a list.
    ExpandStep(StepOf, NewItems),
    /// An orchestrator asks for the end of a workflow.
    CancelWorkflow(WorkflowId),
    /// An orchestrator says whether a step that asks for it may begin.
    ApproveStep(StepOf, Approval),
    /// An orchestrator takes over an interrupted workflow.
    ResumeWorkflow(WorkflowId),
    /// A member asks for the end of an agent.
    Stop {
        /// Its name, as it was written.
        agent: String,
        /// Why, for the agent.
        reason: Option<String>,
        /// Whether by signals at once.
        kill: bool,
    },
}

impl Operation {
    /// Returns the texts in it that members wrote, which may be long.
    pub(in crate::bus) fn texts_mut(&mut self) -> Vec<&mut Body> {
        match self {
            Self::Start(_, Some(task)) | Self::Assign { task, .. } => vec![&mut task.prompt],
            Self::Send { body, .. } | Self::Broadcast(body) => vec![body],
            Self::Open { description, context, .. } => {
                std::iter::once(description).chain(context).collect()
            }
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
