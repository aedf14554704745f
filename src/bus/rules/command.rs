//! Everything that can be asked of a bus.

use crate::bus::event::{Body, Question, Runs, Starting, TaskReport};
use crate::domain::ids::{
    CallId, CommandId, MessageId, PermissionId, RequestId, SessionId, TaskId, WorkflowId,
};
use crate::domain::limits::TeamLimits;
use crate::domain::member::{Activity, Departure, MemberKind, ProcessMark, Tools};
use crate::domain::messaging::{DeliveryMethod, MessageKind, Priority};
use crate::domain::name::Name;
use crate::domain::permission::{Decision, Policy};
use crate::domain::task::{TaskError, TaskStatus};
use crate::domain::workflow::{PlanFile, Step, StepMove, StepOf};

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

/// A wish for a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameChoice {
    /// This one, because somebody chose it.
    Chosen(Name),
    /// This one or, where it is taken, one like it.
    Like(Name),
}

/// A new life that a bridge wants to begin.
#[derive(Clone, Debug)]
pub struct NewAgent {
    /// The name it should have; `starting.name` is overwritten by what it gets.
    pub wish: NameChoice,
    /// Everything else.
    pub starting: Starting,
}

/// A new life that joins by itself.
#[derive(Clone, Debug)]
pub struct NewMember {
    /// Its session.
    pub session: SessionId,
    /// The name it should have.
    pub wish: NameChoice,
    /// Peer or orchestrator.
    pub kind: MemberKind,
    /// The model it says it uses.
    pub model: Option<String>,
    /// What it is for.
    pub roles: Vec<String>,
    /// Its process, for people.
    pub pid: u32,
    /// The process that its server serves, as far as known.
    pub client: Option<ProcessMark>,
    /// Sessions whose presence was found free: they have left, whatever the log says.
    pub dead: Vec<SessionId>,
    /// What the bus is called now that was here before, was not made here, and was put aside.
    pub put_aside: Option<String>,
}

/// Work for an agent.
#[derive(Clone, Debug)]
pub struct NewTask {
    /// What to do.
    pub prompt: Body,
    /// The model asked for.
    pub model: Option<String>,
    /// Whether it begins a new session of the agent.
    pub fresh: bool,
    /// What the agent may do in it, where that is not the profile's to say.
    pub permissions: Option<Policy>,
    /// The step of a workflow that it is, which starts in the same append.
    pub step: Option<StepOf>,
}

/// A workflow that an orchestrator wants to lead. Its steps name each other without a circle.
#[derive(Clone, Debug)]
pub struct NewWorkflow {
    /// What it is called.
    pub name: String,
    /// Its steps.
    pub steps: Vec<Step>,
    /// Their prompts in the same order, as a JSON list.
    pub prompts: Body,
    /// The file of the project that its gates come from, whose yes each of them needs.
    pub plan_file: Option<PlanFile>,
}

/// A list that a step is done for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewItems {
    /// How many items it has.
    pub count: u32,
    /// The items, as a JSON list.
    pub items: Body,
}

/// What is said to a step that asks for approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// It may begin.
    Given,
    /// It may not, with the reason where there is one.
    Refused(Option<String>),
}

/// A question for permission that somebody has to answer.
#[derive(Clone, Debug)]
pub struct NewQuestion {
    /// What for.
    pub question: Question,
    /// What may be answered.
    pub offers: Vec<Decision>,
    /// Milliseconds after which it is answered with no.
    pub timeout_ms: u64,
    /// Who is asked.
    pub to: AskedFirst,
}

/// Who is asked for permission first. Every orchestrator can answer either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedFirst {
    /// The user of the orchestrator that holds the agent.
    Human,
    /// An orchestrator, by a notice.
    Orchestrator,
}

/// Who says what to a question for permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionReply {
    /// The orchestrator itself.
    Itself(Decision),
    /// Its user.
    Human(Decision),
}

/// How a task ended.
#[derive(Clone, Debug)]
pub struct Ending {
    /// A final status.
    pub status: TaskStatus,
    /// What the agent said.
    pub output: Body,
    /// The stop reason of the last turn.
    pub stop_reason: Option<String>,
    /// What went wrong.
    pub error: Option<TaskError>,
    /// What came of it besides.
    pub report: TaskReport,
}

/// What becomes of the task of an agent that is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// It has ended as interrupted.
    Interrupted,
    /// It stays, because the agent may be able to take its session up again.
    Kept,
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

/// Which unread messages to take.
#[derive(Clone, Debug)]
pub struct Pick {
    /// Only these; none stands for all. Whoever shows messages has read their texts before.
    pub only: Option<Vec<MessageId>>,
    /// Only from this member.
    pub from: Option<Name>,
    /// Only this kind.
    pub kind: Option<MessageKind>,
    /// At most so many.
    pub limit: usize,
    /// At most so many bytes of text, but always one message.
    pub bytes: usize,
    /// What a long message counts at the most, because only its head is shown.
    pub head_bytes: usize,
}
