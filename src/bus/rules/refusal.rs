//! Why a command is refused, in sentences that a model can act on.

use crate::domain::ids::{
    IdError, MessageId, PermissionId, RequestId, SessionId, TaskId, WorkflowId,
};
use crate::domain::limits;
use crate::domain::messaging::RequestStatus;
use crate::domain::name::{Name, NameError};
use crate::domain::permission::{Decider, Decision};
use crate::domain::task::TaskStatus;
use crate::domain::workflow::{StepStatus, WorkflowStatus};

/// What the rules say no to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The session that commands has left, or never was.
    #[error("this session left the team and can no longer act")]
    Left,
    /// The endpoint does not belong to the session that it names.
    #[error(
        "this endpoint does not belong to a live agent of the team: its token or session does not \
            match"
    )]
    NotYours,
    /// A text is no name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A text is no id.
    #[error(transparent)]
    Id(#[from] IdError),
    /// The answer comes from a process of the agent that asks.
    #[error(
        "`{id}` was asked by the agent that started this session; an agent cannot answer its own \
            question"
    )]
    OwnQuestion { id: PermissionId },
    /// Nobody has that name.
    #[error("no member is named `{name}`{}", nearest_hint(.nearest))]
    UnknownMember {
        name: String,
        /// Names like it, or all there are.
        nearest: Vec<String>,
    },
    /// Somebody of that name was here.
    #[error("`{name}` has left the team")]
    Gone { name: Name },
    /// The name is somebody else's.
    #[error("the name `{name}` is taken by a live {kind}: choose another")]
    NameTaken {
        name: Name,
        /// What kind of member has it.
        kind: &'static str,
        /// The session that has it.
        session: SessionId,
    },
    /// A message to oneself.
    #[error("you cannot send a message to yourself: name another member")]
    ToYourself,
    /// The inbox is full.
    #[error("the inbox of `{name}` is full ({limit} unread messages): wait until it has read some")]
    InboxFull {
        name: Name,
        /// How many messages may be unread.
        limit: usize,
    },
    /// The inbox has few messages, and long ones.
    #[error(
        "the inbox of `{name}` is full ({} MiB of unread messages): wait until it has read some",
        limits::MAX_UNREAD_BYTES >> 20
    )]
    InboxHeavy { name: Name },
    /// Nobody can follow so many.
    #[error(
        "{limit} of your requests are unanswered, which is the limit: wait until some are answered"
    )]
    TooManyRequests {
        /// How many may be.
        limit: usize,
    },
    /// The machine has enough to do.
    #[error(
        "{limit} agents are live, which is the limit: assign the task to one of them (it queues; \
            list_agents shows them), or stop one with shutdown_agent. `agents` under [limits] of \
            the configuration raises the limit"
    )]
    TooManyAgents {
        /// How many may be.
        limit: usize,
    },
    /// A text is too long.
    #[error(
        "{what} is {bytes} bytes long; the limit is {} bytes (1 MiB): put it into a file of the project and name the file",
        limits::MAX_CONTENT_BYTES
    )]
    TooLong { what: &'static str, bytes: u64 },
    /// A text is empty.
    #[error("{what} is empty: give it some text")]
    Empty { what: &'static str },
    /// Nobody knows that message, or it is not for the asker.
    #[error("there is no message `{id}` that you sent or received, or it is too old to be found")]
    UnknownMessage { id: MessageId },
    /// Nobody knows that request.
    #[error(
        "there is no request `{id}`, or it is too old to be found: check_messages shows the open ones"
    )]
    UnknownRequest { id: RequestId },
    #[error("the request `{id}` is your own: another member has to claim it")]
    OwnRequest { id: RequestId },
    /// Somebody else was faster, or the request is closed. Shown as a value, not an error.
    #[error("the request `{id}` is {}{}", .status.as_str(), .by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default())]
    ClaimLost {
        id: RequestId,
        status: RequestStatus,
        /// Who has it or had it.
        by: Option<Name>,
    },
    /// The agent does not end a turn whose task was abandoned.
    #[error(
        "`{name}` does not end its last turn and takes no tasks until it does: stop it with \
            kill_agent, or assign the task to another agent"
    )]
    Stuck { name: Name },
    /// Nobody knows that task.
    #[error("there is no task `{id}`, or it is too old to be found")]
    UnknownTask { id: TaskId },
    /// A task is at its end already.
    #[error("the task `{id}` {} already", .status.phrase())]
    TaskOver { id: TaskId, status: TaskStatus },
    /// Nobody knows that question for permission.
    #[error(
        "there is no permission question `{id}`, or it was answered too long ago: get_agent_status lists the open ones under `permissions`"
    )]
    UnknownPermission { id: PermissionId },
    /// A question for permission has its answer already. Shown as a value, not an error.
    #[error("the question `{id}` was already answered: {} by {}", .decision.as_str(), .by.as_str())]
    PermissionOver {
        id: PermissionId,
        decision: Decision,
        /// Who or what it comes from.
        by: Decider,
    },
    /// The agent does not offer that answer.
    #[error("the question `{id}` does not offer that answer: choose from {}", words(.offers))]
    NotOffered {
        id: PermissionId,
        /// What may be answered.
        offers: Vec<Decision>,
    },
    #[error("only an orchestrator can answer permission questions")]
    NotAnOrchestrator,
    /// Only orchestrators lead workflows.
    #[error("only an orchestrator can run workflows")]
    CannotLead,
    /// Nobody knows that workflow.
    #[error(
        "there is no workflow `{id}`, or it is too old to be found: get_workflow_status without an id lists them"
    )]
    UnknownWorkflow { id: WorkflowId },
    /// A workflow is at its end already.
    #[error("the workflow `{id}` {} already", .status.phrase())]
    WorkflowOver { id: WorkflowId, status: WorkflowStatus },
    /// Somebody else leads the workflow.
    #[error("the workflow `{id}` is already being run by `{by}`")]
    LedByAnother { id: WorkflowId, by: Name },
    /// There are very many workflows already.
    #[error(
        "{} workflows are unfinished, which is the limit: wait, or cancel one with cancel_workflow",
        limits::MAX_WORKFLOWS
    )]
    TooManyWorkflows,
    /// The workflow has no such step.
    #[error("the workflow `{id}` has no step `{step}`")]
    UnknownStep { id: WorkflowId, step: Name },
    /// Something that cannot happen to the step as it stands.
    #[error("the step `{step}` is {}, so this does not apply to it", .status.as_str())]
    StepElsewhere { step: Name, status: StepStatus },
    /// A list with very many items.
    #[error(
        "the list for step `{step}` has {count} items; the limits are {} items per list, and {} \
            steps and items per workflow",
        limits::MAX_ITEMS,
        limits::MAX_PLAYED
    )]
    TooManyItems {
        /// The step that is to be done for each.
        step: Name,
        /// How many there are.
        count: u32,
    },
    /// The agent has asked very much at once.
    #[error("`{name}` has {} open permission questions, which is the limit", limits::MAX_QUESTIONS)]
    TooManyQuestions { name: Name },
    /// The member is not an agent of a bridge.
    #[error("`{name}` is not an agent started by a bridge, but {}: {hint}", with_article(.kind))]
    NotAnAgent {
        name: Name,
        kind: &'static str,
        /// What to do instead.
        hint: &'static str,
    },
    /// The agent is being stopped.
    #[error(
        "`{name}` is being stopped: assign the task to another agent, or to a new one of its \
            profile"
    )]
    Stopping { name: Name },
    /// One turn at a time.
    #[error("`{name}` is in a turn: the next task starts when it ends")]
    TurnRuns { name: Name },
    /// The agent has enough to do.
    #[error(
        "`{name}` has {limit} queued tasks, which is the limit: assign the task to another agent, \
            or wait"
    )]
    QueueFull {
        name: Name,
        /// How many may wait.
        limit: usize,
    },
    /// A message to everybody, which is another tool.
    #[error(
        "send_message reaches one member: an orchestrator can reach all with `broadcast`, and \
            `request_task` offers work to all"
    )]
    ToAll,
    /// Something that only the bridge that holds the agent may say.
    #[error("only the bridge that runs this agent can do this")]
    NotTheOwner,
    /// What a wait was for has been delivered to it in the meantime.
    #[error("this wait already received a message")]
    AlreadyHanded,
}

fn with_article(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'o']) { "an" } else { "a" };
    format!("{article} {kind}")
}

fn words(offers: &[Decision]) -> String {
    let words: Vec<_> = offers.iter().map(|offer| offer.as_str()).collect();
    words.join(", ")
}

fn nearest_hint(nearest: &[String]) -> String {
    match nearest {
        [] => ": list_agents shows the members".to_owned(),
        names => format!(
            ": did you mean {}?",
            names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        ),
    }
}
