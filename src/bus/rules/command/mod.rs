//! The list of everything that can be asked of a bus.

mod arguments;

pub use self::arguments::{
    Approval, AskedFirst, Broken, Ending, NameChoice, NewAgent, NewItems, NewMember, NewQuestion,
    NewTask, NewWorkflow, PermissionReply, Pick,
};

use crate::bus::event::{Body, Question, Runs};
use crate::domain::ids::{
    CallId, CommandId, PermissionId, RequestId, SessionId, TaskId, WorkflowId,
};
use crate::domain::limits::TeamLimits;
use crate::domain::member::{Activity, Departure, Tools};
use crate::domain::message::{DeliveryMethod, Priority};
use crate::domain::name::Name;
use crate::domain::permission::Decision;
use crate::domain::workflow::{StepMove, StepOf};

/// One command: who asks for what.
#[derive(Clone, Debug)]
pub struct Command {
    /// The same id is the same command, however often it is tried.
    pub id: CommandId,
    /// The session that asks; none for what is merely due.
    pub by: Option<SessionId>,
    /// Earlier calls of that session whose answers its model has taken, as this new call proves.
    pub taken: Vec<CallId>,
    /// What for.
    pub ask: Operation,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub enum Operation {
    /// Writes what is due.
    Due,
    /// Tells this orchestrator of tasks that ended while it was away and for which the append with which it joined had no room.
    TellEnds(SessionId),
    /// Says that an agent does not end a turn whose task was given up, and ends what waits behind that.
    Stuck(SessionId),
    /// Says that such a turn has ended after all.
    Free(SessionId),
    /// Notes that this session's model has taken what it was handed, and nothing else.
    Taken,
    /// A peer or an orchestrator joins.
    Join(Box<NewMember>),
    /// A bridge is about to start an agent, with its first task.
    Start(Box<NewAgent>, Option<NewTask>),
    /// A bridge says that its agent is there.
    Ready {
        /// The agent.
        session: SessionId,
        /// The model it uses.
        model: Option<String>,
        /// Its process.
        pid: u32,
    },
    /// A bridge says by which ways it hands its agent messages.
    Ways {
        /// The agent.
        session: SessionId,
        /// Which.
        ways: Vec<DeliveryMethod>,
    },
    /// A bridge says what its agent does.
    Activity {
        /// The agent.
        session: SessionId,
        /// What.
        activity: Activity,
    },
    /// A bridge says that its agent uses another model.
    Model {
        /// The agent.
        session: SessionId,
        /// Which.
        model: String,
    },
    /// Somebody says whether an agent has our tools.
    Tools {
        /// The agent.
        session: SessionId,
        /// Whether.
        tools: Tools,
    },
    /// A session ends: its own, or an agent of this bridge.
    Leave {
        /// Which.
        session: SessionId,
        /// Why.
        departure: Departure,
        /// What there is to say about it.
        detail: Option<String>,
    },
    /// Sessions whose presence was found free have left.
    Bury(Vec<SessionId>),
    /// A bridge says which processes its agent has.
    Runs(Box<Runs>),
    /// Nothing is left of an agent that was found dead.
    Swept(SessionId),
    /// A bridge says that its agent shows signs of life.
    Stir(SessionId),
    /// A bridge says that its agent has shown no sign of life in its turn for so long, in milliseconds.
    Stall(SessionId, u64),
    /// A bridge says that its agent's process has ended and is started again.
    Crash {
        /// The agent.
        session: SessionId,
        /// How it ended.
        detail: String,
        /// What becomes of the task in its turn.
        task: Broken,
    },
    /// Somebody has watched the heartbeats of these sessions stand still for so long, in milliseconds.
    Hung(Vec<SessionId>, u64),
    /// The heartbeats of these sessions move again.
    Back(Vec<SessionId>),
    /// An orchestrator's configuration has these limits.
    Limit(TeamLimits),
    /// Sends a message to one member.
    Send {
        /// To whom, as it was written.
        to: String,
        /// What.
        body: Body,
        /// The message or request that it answers, as it was written.
        reply_to: Option<String>,
        /// How much it matters to who works on something else.
        priority: Priority,
    },
    /// Sends a message to everyone.
    Broadcast(Body),
    /// Takes unread messages for a call.
    Take {
        /// Whose: its own session, or an agent of this bridge.
        session: SessionId,
        /// The call that carries them.
        call: CallId,
        /// How.
        way: DeliveryMethod,
        /// Which, and how many.
        pick: Pick,
    },
    /// Says what became of what a call was handed: seen, or given back.
    Settle {
        /// Whose call: its own session's, or an agent's of this bridge.
        session: SessionId,
        /// Which.
        call: CallId,
        /// Whether the model has taken it.
        seen: bool,
    },
    /// Says that the answer of a call with what it was handed has been written to its client.
    AnswerWritten(CallId),
    /// Says that these calls of hooks run no more: what they were handed and have not said is unread again.
    EndHooks(Vec<CallId>),
    /// A bridge says that its agent's turn is over, and with it the calls of our tools: some agents let them run on, and read
    /// their answers no more. What they were handed, and nothing has proven to be taken, is unread again.
    EndCalls(SessionId),
    /// Begins to wait, or takes what fits already.
    Wait {
        /// The call.
        call: CallId,
        /// Only from this member.
        from: Option<Name>,
        /// Only about this request.
        request: Option<RequestId>,
        /// How long, in milliseconds. Zero looks once.
        timeout_ms: u64,
    },
    /// Stops waiting. Refused with `AlreadyHanded` when a message has come.
    EndWait {
        /// The call.
        call: CallId,
    },
    /// Opens a request.
    Open {
        /// What needs doing.
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
    /// Gives up a claim because its claimer has not had the answer of this call, unless it knows of the claim otherwise.
    Release(RequestId, CallId),
    /// Assigns work to a live agent.
    Assign {
        /// The agent's session.
        session: SessionId,
        /// What.
        task: NewTask,
    },
    /// A bridge begins the turn of a task.
    StartTask(TaskId),
    /// A bridge goes on with the task of an agent that was started again.
    ResumeTask(TaskId),
    /// A bridge says how a task ended.
    FinishTask(TaskId, Box<Ending>),
    /// Somebody wants the end of a task.
    CancelTask(TaskId),
    /// The result of a task goes to who assigned it, as the answer of this call: the notice of its end goes with it.
    TakeNotice(CallId, TaskId),
    /// A bridge says that its agent asks for permission.
    AskPermission(Box<NewQuestion>),
    /// A bridge says what a policy has answered to its agent, and to how many such questions, where they were several.
    RecordPermission(Box<Question>, Decision, Option<u64>),
    /// An orchestrator, or its user, answers a question for permission.
    AnswerPermission(PermissionId, PermissionReply),
    /// A user was asked in vain: an orchestrator is told of the question.
    TellPermission(PermissionId),
    /// A bridge says that its agent does not wait for these answers any more.
    EndPermissions {
        /// The agent.
        session: SessionId,
        /// Which questions.
        ids: Vec<PermissionId>,
    },
    /// An orchestrator begins to lead a workflow.
    CreateWorkflow(Box<NewWorkflow>),
    /// Who leads a workflow says what happens to its steps, in this order.
    MoveSteps(WorkflowId, Vec<(Name, StepMove)>),
    /// Who leads a workflow does a step for each item of a list.
    SpreadStep(StepOf, NewItems),
    /// An orchestrator wants the end of a workflow.
    CancelWorkflow(WorkflowId),
    /// An orchestrator says whether a step that asks for it may begin.
    ApproveStep(StepOf, Approval),
    /// An orchestrator goes on with an interrupted workflow.
    ResumeWorkflow(WorkflowId),
    /// Somebody wants the end of an agent.
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
    /// Returns the texts of others in it, which may be long.
    pub fn texts_mut(&mut self) -> Vec<&mut Body> {
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
            Self::SpreadStep(_, new) => vec![&mut new.items],
            // What else is asked for has no text, or a short one of ours.
            _ => Vec::new(),
        }
    }
}
