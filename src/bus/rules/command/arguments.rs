//! What the operations are given: members to be, work, questions, and which messages to take.

use crate::bus::event::{Body, Question, Starting, TaskReport};
use crate::domain::ids::{MessageId, SessionId};
use crate::domain::member::{MemberKind, ProcessMark};
use crate::domain::message::MessageKind;
use crate::domain::name::Name;
use crate::domain::permission::{Decision, Policy};
use crate::domain::task::{TaskError, TaskStatus};
use crate::domain::workflow::{PlanFile, Step, StepOf};

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
