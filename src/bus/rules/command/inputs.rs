//! What the operations are given: members to be, work, questions, and which messages to take.

use crate::bus::event::{Body, Question, Starting, TaskReport};
use crate::domain::ids::{MessageId, SessionId};
use crate::domain::member::{MemberKind, ProcessMark};
use crate::domain::messaging::MessageKind;
use crate::domain::name::Name;
use crate::domain::permission::{Decision, Policy};
use crate::domain::task::{TaskError, TaskStatus};
use crate::domain::workflow::{PlanFile, Step, StepOf};

/// The name that a member asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameChoice {
    /// Exactly this one, which a person or an agent chose.
    Chosen(Name),
    /// This one or, if it is taken, a generated one like it.
    Like(Name),
}

/// An agent that a bridge starts.
#[derive(Clone, Debug)]
pub struct NewAgent {
    /// The name it should have; `starting.name` is overwritten with the name it gets.
    pub choice: NameChoice,
    pub starting: Starting,
}

/// A session that joins by itself.
#[derive(Clone, Debug)]
pub struct NewMember {
    pub session: SessionId,
    /// The name it should have.
    pub choice: NameChoice,
    pub kind: MemberKind,
    /// The model it says it uses.
    pub model: Option<String>,
    /// What it is for.
    pub roles: Vec<String>,
    /// Its process, for people.
    pub pid: u32,
    /// The process that its server serves, as far as known.
    pub client: Option<ProcessMark>,
    /// Sessions whose presence no process holds: they have left, whatever the log says.
    pub dead: Vec<SessionId>,
    /// The new name of a bus that was here before, was not made here, and was put aside.
    pub put_aside: Option<String>,
}

/// Work for an agent.
#[derive(Clone, Debug)]
pub struct NewTask {
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

/// A workflow that an orchestrator begins. Its dependencies have no circle.
#[derive(Clone, Debug)]
pub struct NewWorkflow {
    /// What it is called.
    pub name: String,
    pub steps: Vec<Step>,
    /// Their prompts in the same order, as a JSON list.
    pub prompts: Body,
    /// The file of the project that its gates come from, whose yes each of them needs.
    pub plan_file: Option<PlanFile>,
}

/// The list that a step is expanded for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewItems {
    /// How many items it has.
    pub count: u32,
    /// The items, as a JSON list.
    pub items: Body,
}

/// The answer to a step that asks for approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    Given,
    /// It may not, with the reason where there is one.
    Refused(Option<String>),
}

/// A question for permission that a person or an orchestrator has to answer.
#[derive(Clone, Debug)]
pub struct NewQuestion {
    pub question: Question,
    /// What may be answered.
    pub offers: Vec<Decision>,
    /// Milliseconds after which it is answered with no.
    pub timeout_ms: u64,
    /// Who is asked first.
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

/// An answer to a question for permission, and who gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionReply {
    Itself(Decision),
    Human(Decision),
}

/// How a task ended.
#[derive(Clone, Debug)]
pub struct Ending {
    pub status: TaskStatus,
    /// What the agent said.
    pub output: Body,
    /// The stop reason of the last turn.
    pub stop_reason: Option<String>,
    pub error: Option<TaskError>,
    /// What came of it besides.
    pub report: TaskReport,
}

/// What becomes of the task of an agent that is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// It has ended as interrupted.
    Interrupted,
    /// It stays, because the agent may be able to resume its session.
    Kept,
}

/// Which unread messages to deliver.
#[derive(Clone, Debug)]
pub struct Pick {
    /// Only these; `None` stands for all. A call that shows messages has read their texts before.
    pub only: Option<Vec<MessageId>>,
    /// Only from this member.
    pub from: Option<Name>,
    pub kind: Option<MessageKind>,
    /// At most so many.
    pub limit: usize,
    /// At most so many bytes of text, but always one message.
    pub bytes: usize,
    /// The most that a long message counts, because only its beginning is shown.
    pub head_bytes: usize,
}
