//! The inputs of operations: new members, tasks, workflows, questions, answers, and the choice of messages.

use crate::bus::event::{Body, Question, Starting, TaskReport};
use crate::domain::access_key::{KeyHash, KeyScope};
use crate::domain::ids::{KeyId, MessageId, PermissionId, SessionId, TaskId, WorkflowId};
use crate::domain::limits::TeamLimits;
use crate::domain::member::{Host, Label, MemberKind, ProcessMark, Traits};
use crate::domain::messaging::{Arbiter, Group, ListedProjects, MessageKind, Priority, Signal};
use crate::domain::name::Name;
use crate::domain::permission::{Decision, Policy};
use crate::domain::task::{TaskError, TaskStatus};
use crate::domain::workflow::{PlanFile, Step, StepOf};

/// The name that a member requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameChoice {
    /// Exactly this name, which a user or an agent chose.
    Chosen(Name),
    /// This name or, if it is taken, a generated one like it.
    Like(Name),
    /// One of the names of a pool: the one last used in this directory if it is free, else the first free one. It counts as chosen.
    FromPool { pool: Vec<Name>, cwd: String },
}

impl NameChoice {
    /// Returns the names of which it may be.
    pub fn wanted(&self) -> &[Name] {
        match self {
            Self::Chosen(name) | Self::Like(name) => std::slice::from_ref(name),
            Self::FromPool { pool, .. } => pool,
        }
    }

    /// Says whether somebody chose the name, so that its mail waits.
    pub fn is_chosen(&self) -> bool {
        !matches!(self, Self::Like(_))
    }
}

/// An agent that a bridge starts.
#[derive(Clone, Debug)]
pub struct NewAgent {
    /// The rules overwrite `starting.name` with the name that it gets.
    pub choice: NameChoice,
    pub starting: Starting,
    pub traits: Traits,
    /// Where it runs, on a bus that several machines share.
    pub host: Option<Host>,
}

impl NewAgent {
    /// Makes one that says nothing of itself.
    pub fn new(choice: NameChoice, starting: Starting) -> Self {
        Self { choice, starting, traits: Traits::default(), host: None }
    }
}

/// What a session that joins by itself says of itself, beside its name and roles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    pub traits: Traits,
    /// Where its client works.
    pub cwd: Option<String>,
    /// Whether it leads from now on, in the place of another orchestrator.
    pub takes_lead: bool,
    /// Who decides disagreements in its team, if its configuration was read.
    pub arbiter: Option<Arbiter>,
    /// The projects whose members can be written to; none says nothing of them.
    pub projects: Option<ListedProjects>,
    /// The limits of its team, if it comes without an orchestrator, which sets them itself.
    pub limits: Option<TeamLimits>,
}

/// A session whose presence no process holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadSession {
    pub session: SessionId,
    /// When its presence or its task was last seen alive, in wall time, if that is known.
    pub alive_ms: Option<i64>,
}

impl From<SessionId> for DeadSession {
    /// It is not known when it was last seen alive.
    fn from(session: SessionId) -> Self {
        Self { session, alive_ms: None }
    }
}

/// A session that joins by itself.
#[derive(Clone, Debug)]
pub struct NewMember {
    pub session: SessionId,
    pub choice: NameChoice,
    pub kind: MemberKind,
    /// The model that it reports.
    pub model: Option<String>,
    pub roles: Vec<String>,
    pub description: Description,
    /// Its process, for display.
    pub pid: u32,
    /// The process that its server serves, if known.
    pub client: Option<ProcessMark>,
    /// Where it runs, on a bus that several machines share.
    pub host: Option<Host>,
    /// Sessions that are dead, whatever the log says.
    pub dead: Vec<DeadSession>,
    /// The new name of an existing bus that was not created here and was set aside.
    pub put_aside: Option<String>,
}

impl NewMember {
    /// Returns a member that says nothing of itself and finds no dead ones.
    pub fn new(session: SessionId, choice: NameChoice, kind: MemberKind, pid: u32) -> Self {
        Self {
            session,
            choice,
            kind,
            model: None,
            roles: Vec::new(),
            description: Description::default(),
            pid,
            client: None,
            host: None,
            dead: Vec::new(),
            put_aside: None,
        }
    }
}

/// Work for an agent.
#[derive(Clone, Debug)]
pub struct NewTask {
    pub prompt: Body,
    /// The requested model.
    pub model: Option<String>,
    /// Whether it begins a new session of the agent.
    pub fresh: bool,
    /// The permission policy, if it differs from the profile's.
    pub permissions: Option<Policy>,
    /// Its place in the queue of the agent.
    pub priority: Priority,
    /// The workflow step that it does, which starts in the same append.
    pub step: Option<StepOf>,
    /// The task that was placed on this host, if it is that one.
    pub placed: Option<TaskId>,
}

impl NewTask {
    /// Makes one that says nothing but what to do.
    pub fn of(prompt: Body) -> Self {
        let priority = Priority::Normal;
        Self {
            prompt,
            model: None,
            fresh: false,
            permissions: None,
            priority,
            step: None,
            placed: None,
        }
    }
}

/// A task for a new agent of another host.
#[derive(Clone, Debug)]
pub struct NewPlacement {
    /// The session of the host's bridge.
    pub with: SessionId,
    pub profile: Name,
    /// The name for the agent.
    pub name: Option<Name>,
    /// Where it works, relative to the host's own checkout.
    pub cwd: Option<String>,
    pub task: NewTask,
}

/// A workflow that an orchestrator begins. Its dependencies have no cycle.
#[derive(Clone, Debug)]
pub struct NewWorkflow {
    pub name: String,
    pub steps: Vec<Step>,
    /// Their prompts in the same order, as a JSON list.
    pub prompts: Body,
    /// The project's plan file that its gates come from. Each gate needs the user's trust in it.
    pub plan_file: Option<PlanFile>,
    /// Whether a script plays its agents.
    pub is_trial: bool,
}

/// The list that a step is expanded for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewItems {
    pub count: u32,
    /// The items, as a JSON list.
    pub items: Body,
}

/// The answer to a step that needs approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    Given,
    /// With an optional reason.
    Refused(Option<String>),
}

/// A permission question for the user or an orchestrator.
#[derive(Clone, Debug)]
pub struct NewQuestion {
    pub question: Question,
    /// The possible answers.
    pub offers: Vec<Decision>,
    /// Milliseconds after which it is rejected.
    pub timeout_ms: u64,
    pub to: AskedFirst,
}

/// The one that is asked for permission first. In all cases every orchestrator can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedFirst {
    /// The user of the orchestrator that holds the agent.
    Human,
    /// That user too, but only as the answer to the orchestrator's next call, for which a notice asks.
    HumanWithNextCall,
    /// An orchestrator, by a notice.
    Orchestrator,
}

/// An orchestrator's answer to a permission question: its own, or its user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionReply {
    Itself(Decision),
    Human(Decision),
}

/// What the person at the command line asks for.
#[derive(Clone, Debug)]
pub enum HumanWish {
    /// Sends a message to a member or a group.
    Send {
        /// The recipient, as the person wrote it.
        to: String,
        body: Body,
        /// That of the signal, if the person says none.
        priority: Option<Priority>,
        /// The message that it answers.
        reply_to: Option<MessageId>,
        /// What it is for; that the person says it, if nothing else.
        signal: Option<Signal>,
    },
    /// Asks the bridge of an agent to stop it.
    Stop {
        /// The agent's name, as the person wrote it.
        agent: String,
        /// For the agent to read.
        reason: Option<String>,
        /// Whether to stop it at once, by signals.
        kill: bool,
    },
    /// Cancels a task: a queued one ends at once, a running one by its bridge.
    CancelTask(TaskId),
    CancelWorkflow(WorkflowId),
    /// Answers a permission question.
    Answer(PermissionId, Decision),
    /// Approves a step, or refuses it.
    Approve(StepOf, Approval),
    /// Makes a key for the HTTP API.
    MakeKey(NewKey),
    RevokeKey(KeyId),
}

/// A key for the HTTP API.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// The member that its bearer is.
    pub name: Name,
    pub scopes: Vec<KeyScope>,
    /// Of its secret.
    pub hash: KeyHash,
    /// What that member is in its team.
    pub roles: Vec<Label>,
    pub traits: Traits,
}

/// What the owner of a request does with its claim, with what it says to the requester or to the next owner.
#[derive(Clone, Debug)]
pub enum ClaimUpdate {
    /// Its lease runs anew.
    Renew,
    /// Tells the requester how far it is. The lease runs anew.
    Progress(Body),
    /// Offers the request to all again.
    Release(Option<Body>),
    HandOver {
        /// The next owner, as the caller wrote it.
        to: String,
        content: Option<Body>,
    },
    /// Answers the request.
    Complete(Body),
    /// Ends the request without an answer.
    Fail(Option<Body>),
}

impl ClaimUpdate {
    pub(in crate::bus) fn text_mut(&mut self) -> Option<&mut Body> {
        match self {
            Self::Renew => None,
            Self::Progress(text) | Self::Complete(text) => Some(text),
            Self::Release(text) | Self::HandOver { content: text, .. } | Self::Fail(text) => {
                text.as_mut()
            }
        }
    }
}

/// How a task ended.
#[derive(Clone, Debug)]
pub struct Ending {
    pub status: TaskStatus,
    pub output: Body,
    /// The stop reason of the last turn.
    pub stop_reason: Option<String>,
    pub error: Option<TaskError>,
    pub report: TaskReport,
}

/// The status of the running task of an agent that is restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// It ended as interrupted.
    Interrupted,
    /// It keeps running, because the agent may be able to resume its session.
    Kept,
}

/// The choice of unread messages to deliver.
#[derive(Clone, Debug)]
pub struct Pick {
    /// Only these, or all if `None`. A call that shows messages has already read their texts.
    pub only: Option<Vec<MessageId>>,
    /// Only from this member.
    pub from: Option<Name>,
    /// Only what came by the address of this group.
    pub to: Option<Group>,
    pub kind: Option<MessageKind>,
    /// The most messages.
    pub limit: usize,
    /// The most bytes of text, but always at least one message.
    pub bytes: usize,
    /// The most bytes that a long message counts, because only its beginning is shown.
    pub head_bytes: usize,
}

impl Pick {
    /// Returns a pick of any messages, within these bounds.
    pub fn any(limit: usize, bytes: usize, head_bytes: usize) -> Self {
        Self { only: None, from: None, to: None, kind: None, limit, bytes, head_bytes }
    }
}
