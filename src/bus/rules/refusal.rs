//! Why a command is refused, in sentences that a model can act on.

mod phrases;
mod placement_refusal;

use self::phrases::{
    attachments, circle, ended_hint, nearest_hint, reference, standing, too_many_wait, who_may,
    whose, with_article, words,
};
pub use self::placement_refusal::PlacementRefusal;
use super::nobody_fits::{NobodyFits, UnknownProject};
use crate::domain::ids::{
    IdError, KeyId, MessageId, PermissionId, RequestId, SessionId, TaskId, WorkflowId,
};
use crate::domain::limits::{self, TeamLimits};
use crate::domain::member::{Label, SessionNumber};
use crate::domain::messaging::{
    AddressError, AttachmentError, Audience, ElsewhereError, RequestStatus, ShapeError, Signal,
};
use crate::domain::name::{Name, NameError};
use crate::domain::permission::{Decider, Decision};
use crate::domain::task::TaskStatus;
use crate::domain::text::counted::{counted, counted_as};
use crate::domain::workflow::{StepStatus, WorkflowStatus};

/// Why the rules refuse a command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The commanding session has left, or never existed.
    #[error("this session left the team and can no longer act")]
    Left,
    /// The endpoint does not belong to the session that it names.
    #[error(
        "this endpoint does not belong to a live agent of the team: its token or session does not \
            match"
    )]
    NotYours,
    /// The text is no name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The text is no id.
    #[error(transparent)]
    Id(#[from] IdError),
    #[error(transparent)]
    Placement(#[from] PlacementRefusal),
    /// The answer comes from a process of the agent that asks.
    #[error(
        "`{id}` was asked by the agent that started this session; an agent cannot answer its own \
            question"
    )]
    OwnQuestion { id: PermissionId },
    #[error("no member is named `{name}`{}", nearest_hint(.nearest))]
    UnknownMember {
        name: String,
        /// Similar names, or all names.
        nearest: Vec<String>,
    },
    /// No live session has that number.
    #[error("there is no session `{number}` here{}", ended_hint(.name.as_ref()))]
    NoSession {
        number: SessionNumber,
        /// The member whose session it was, if that is still known.
        name: Option<Name>,
    },
    #[error("`{name}` has left the team")]
    Gone { name: Name },
    #[error("`{name}` has mail for whoever leads the team: choose another name")]
    NameOfLead { name: Name },
    #[error("`{name}` is reserved, as it means others in the team: choose another name")]
    NameMeansOthers { name: Name },
    #[error("the name `{name}` is taken by a live {kind}: choose another")]
    NameTaken {
        name: Name,
        /// The kind of its holder.
        kind: &'static str,
        /// The session of its holder.
        session: SessionId,
    },
    #[error(
        "live members have all names of the pool, which are {names}: choose another with --name, or \
            add a word to `pool` under [names] of the configuration"
    )]
    PoolTaken { names: usize },
    #[error("`{name}` is you: send to another member; list_agents shows them")]
    ToYourself { name: Name },
    #[error(
        "`{word}` is no member: send_message to `human` reaches your user, and so does what you say in \
            your own answer"
    )]
    ToUser { word: String },
    /// The person at the command line sends it.
    #[error(
        "the signal `{signal}` is for members, who have claims, inboxes and requests: leave it out, and \
            say in words what you want"
    )]
    SignalOfMembers { signal: Signal },
    #[error(
        "`bridge` is the bus itself and reads no messages: send to a member; list_agents shows them"
    )]
    ToBridge,
    /// The recipient is a list of names.
    #[error(
        "{text:?} is not one address: make one call for each member, or send to a group such as \
            `@role`, `#topic` or `all`"
    )]
    ToSeveral { text: String },
    #[error("`{id}` cannot be answered with reply_to: {hint}")]
    NotAnswerable {
        id: String,
        /// What to do instead.
        hint: &'static str,
    },
    #[error(
        "the inbox of `{name}` is full ({}): wait until it has read some",
        counted(*.limit, "unread message")
    )]
    InboxFull { name: Name, limit: usize },
    /// The session has sent the same a moment ago. Shown as a value, not an error.
    #[error("you have sent the same a moment ago: it is the message `{id}`")]
    Double { id: MessageId },
    /// The session sends more than the team allows.
    #[error(
        "you send too fast: the limit is {} at once and then {} a minute (`messages_per_minute` \
            under [limits] of the configuration). Go on in {}, or put what you have to say into \
            one message",
        counted(usize::try_from(.limits.message_burst).unwrap_or(usize::MAX), "message"),
        .limits.messages_per_minute,
        counted(usize::try_from(.wait_ms.div_ceil(1_000)).unwrap_or(usize::MAX), "second")
    )]
    TooFast {
        limits: TeamLimits,
        /// After how many milliseconds the next message is allowed.
        wait_ms: u64,
    },
    /// The inbox has few messages, but long ones.
    #[error(
        "the inbox of `{name}` is full ({} MiB of unread messages): wait until it has read some",
        limits::MAX_UNREAD_BYTES >> 20
    )]
    InboxHeavy { name: Name },
    #[error(
        "{} unanswered, which is the limit: wait until some are answered",
        counted_as(*.limit, "of your requests is", "of your requests are")
    )]
    TooManyRequests { limit: usize },
    #[error(
        "{} live, which is the limit: assign the task to one of them (it queues; \
            list_agents shows them), or stop one with shutdown_agent. `agents` under [limits] of \
            the configuration raises the limit",
        counted_as(*.limit, "agent is", "agents are")
    )]
    TooManyAgents { limit: usize },
    #[error(
        "{what} is {bytes} bytes long; the limit is {} bytes (1 MiB): put it into a file of the project and name the file",
        limits::MAX_CONTENT_BYTES
    )]
    TooLong { what: &'static str, bytes: u64 },
    #[error("{what} is empty: give it some text")]
    Empty { what: &'static str },
    /// The class of the signal says something of another message.
    #[error(
        "`{signal}` replies to another message: give the id of that message as reply_to, or leave \
            signal out"
    )]
    NeedsReplyTo { signal: Signal },
    #[error(
        "work for a group opens a request, which has no `{what}`: leave it out, or write to one \
            member"
    )]
    OpensRequest { what: &'static str },
    #[error("{by} owns the lane `@{lane}`: write to `@{lane}`, or ask {by} to release it")]
    LaneTaken { lane: Label, by: Name },
    #[error(
        "`{signal}` takes a side on what somebody else has said, and {id} is your own message: give \
            the id of theirs as reply_to"
    )]
    OwnPosition { signal: Signal, id: MessageId },
    #[error(
        "{who} is asked to decide what is in dispute in the thread of {thread}: leave `signal` out to \
            say what you think of it"
    )]
    NotAskedToDecide { who: String, thread: MessageId },
    #[error("{limit} disagreements{} are open, the limit: settle one first", if *.own { " that you began" } else { " of this team" })]
    TooManyConflicts { limit: usize, own: bool },
    #[error(
        "a position, a decision and an answer cannot expire or be replaced: leave ttl_seconds and supersedes out"
    )]
    LastsForGood,
    #[error(
        "{answer} answers {asked}: what takes its place answers it too, with {asked} as reply_to"
    )]
    ReplacesAnswer { answer: MessageId, asked: MessageId },
    #[error("no lane can be called `{lane}`: `@{lane}` has a meaning of its own")]
    LaneMeansMore { lane: Label },
    #[error(
        "`{lane}` is the name, a role or a capability of {of}, who gets what is written to `@{lane}`: give your \
            lane another word"
    )]
    LaneMeansOthers { lane: Label, of: Name },
    #[error("you own {limit} lanes, which is the limit: release one with update_claim")]
    TooManyLanes { limit: usize },
    #[error("you do not own the lane `@{lane}`{}", .by.as_ref().map_or(String::new(), |by| format!(": {by} does")))]
    NotYourLane { lane: Label, by: Option<Name> },
    #[error(
        "content mentions {count} words after `@`; with mention, the limit is {}: write to a group",
        limits::MENTIONS
    )]
    TooManyMentions { count: usize },
    #[error("{}", too_many_wait(*.count, *.own, *.crosses))]
    TooManyQueued { count: usize, own: bool, crosses: bool },
    #[error(transparent)]
    Shape(#[from] ShapeError),
    #[error(transparent)]
    Attachment(#[from] AttachmentError),
    #[error("`{id}` has {}", attachments(.id, *.count))]
    NoAttachment { id: MessageId, count: usize },
    #[error(
        "payload is {bytes} bytes long as JSON; the limit is {} bytes: put it into a file of the \
            project and name the file",
        limits::PAYLOAD_BYTES
    )]
    PayloadTooLong { bytes: u64 },
    #[error("ref is {}: a path, a commit, or a number in a tracker", reference(*.bytes))]
    NoReference { bytes: usize },
    #[error("{what} is {given}; it must be {least} to {most}")]
    SecondsOutOfRange { what: &'static str, given: u64, least: u64, most: u64 },
    #[error(
        "{} awaited, which is the limit: wait until some have come, or leave response_seconds and \
            the signal out",
        counted_as(*.limit, "answer to you is", "answers to you are")
    )]
    TooManyAwaited { limit: usize },
    #[error(
        "{open} questions of yours to the user are open, which is the limit: wait for an answer, or \
            replace one with more.supersedes"
    )]
    TooManyForUser { open: usize },
    /// The state has no such message, or the caller may not see it.
    #[error("there is no message `{id}` that you sent or received, or it is too old to be found")]
    UnknownMessage { id: MessageId },
    /// Only its recipients acknowledge a message.
    #[error("you sent `{id}` yourself: its recipients acknowledge it")]
    OwnMessage { id: MessageId },
    /// Only its sender waits for its answer.
    #[error(
        "you did not send `{id}`: wait with `from` for its sender, or give the id of your own message"
    )]
    NotYourQuestion { id: MessageId },
    /// The answer was given before. Shown as a value, not an error.
    #[error("you were given the answer before: it is the message `{answer}`")]
    AnsweredBefore { answer: MessageId },
    /// Nobody will answer. Shown as a value, not an error.
    #[error(
        "nobody will answer `{id}`: it was withdrawn or not delivered, or expired before it was read"
    )]
    NeverAnswered { id: MessageId },
    #[error("you would wait for yourself: leave `from` out, or name another member")]
    WaitForYourself,
    /// Who would be waited for waits for the caller, perhaps through others.
    #[error("{}", circle(.chain, .asked.as_deref()))]
    Circle {
        /// Each waits for the next, and the last for the caller.
        chain: Vec<Name>,
        /// The message or request whose answer the last one waits for.
        asked: Option<String>,
    },
    /// Only its sender puts another message in its place.
    #[error("you did not send `{id}` as a message to a member: leave supersedes out")]
    NotYourMessage { id: MessageId },
    /// What takes the place of a message is for the same recipients.
    #[error(
        "`{id}` was sent to `{to}`: what takes its place goes to the same, as who has not seen the \
            old one gets the new one only"
    )]
    ReplacesForOthers { id: MessageId, to: Audience },
    #[error("the message `{id}` {how} before you had read it: leave it out")]
    EndedUnseen {
        id: MessageId,
        /// In the past tense.
        how: &'static str,
    },
    /// Only who has resolved a thread resolves it once more.
    #[error(
        "the thread of `{id}` is resolved{}{}: a new message in it reopens it",
        .by.as_ref().map_or(String::new(), |by| format!(" by `{by}`")),
        .summary.as_ref().map_or(String::new(), |summary| format!(" ({summary:?})"))
    )]
    ThreadResolved {
        id: MessageId,
        /// Unknown if an older version has noted it.
        by: Option<Name>,
        /// How, in the words of that member.
        summary: Option<String>,
    },
    /// A call carries it whose answer the caller has not had yet.
    #[error(
        "the message `{id}` is in the answer of another call, which may not have reached you when \
            you wrote this one: read it there, then call again"
    )]
    NotReadYet { id: MessageId },
    #[error("`ids` is empty: name the messages that you have read")]
    NothingToAcknowledge,
    #[error(
        "{} in one call; the limit is {}: make a call for each part of them",
        counted(*.count, "message"),
        limits::ACKNOWLEDGED_AT_ONCE
    )]
    TooManyToAcknowledge { count: usize },
    #[error(
        "note is {bytes} bytes long; the limit is {} bytes: send what is longer with send_message, \
            with the message's id as reply_to",
        limits::ACKNOWLEDGEMENT_NOTE_BYTES
    )]
    NoteTooLong { bytes: usize },
    #[error(
        "there is no request `{id}`, or it is too old to be found: check_messages shows the open ones"
    )]
    UnknownRequest { id: RequestId },
    #[error("the request `{id}` is your own: another member has to claim it")]
    OwnRequest { id: RequestId },
    /// The request is for others.
    #[error("the request `{id}` is for `{only}` alone{}", who_may(.who))]
    NotForYou {
        id: RequestId,
        only: Audience,
        /// The live members that may claim it.
        who: Vec<Name>,
    },
    /// Another member claimed it first, or the request has ended. Shown as a value, not an error.
    #[error("the request `{id}` {}", standing(*.status, .by.as_ref()))]
    ClaimLost {
        id: RequestId,
        status: RequestStatus,
        /// Its owner, or the last one.
        by: Option<Name>,
    },
    /// The caller has no claim on the request, or none any more.
    #[error("`{id}` is not yours: {}", whose(.id, *.status, .by.as_ref()))]
    ClaimOver {
        id: RequestId,
        status: RequestStatus,
        /// Its owner, or the last one.
        by: Option<Name>,
    },
    #[error("`{name}` opened `{id}` itself: hand it over to another member, or release it")]
    HandedToAuthor { id: RequestId, name: Name },
    #[error("a claim has one owner: hand `{id}` over to one member")]
    HandedToGroup { id: RequestId },
    #[error(
        "`{name}` is not here to take it, does not respond, or is being stopped: list_agents shows who is here; \
            with `release` anybody may claim it"
    )]
    NobodyThere { name: Name },
    /// The agent does not end a turn whose task was abandoned.
    #[error(
        "`{name}` does not end its last turn and takes no tasks until it does: stop it with \
            kill_agent, or assign the task to another agent"
    )]
    Stuck { name: Name },
    /// The agent plays a script in a trial of another session.
    #[error(
        "`{name}` plays a script in a trial of a workflow (`run --scripted`), so its answers are no real ones: give your task to a \
            profile, or to another agent"
    )]
    OfTrial { name: Name },
    #[error("there is no task `{id}`, or it is too old to be found")]
    UnknownTask { id: TaskId },
    #[error("the task `{id}` {} already", .status.phrase())]
    TaskOver { id: TaskId, status: TaskStatus },
    #[error(
        "there is no permission question `{id}`, or it was answered too long ago: get_agent_status lists the open ones under `permissions`"
    )]
    UnknownPermission { id: PermissionId },
    /// The permission question already has its answer. Shown as a value, not an error.
    #[error("the question `{id}` was already answered: {} by {}", .decision.as_str(), .by.as_str())]
    PermissionOver { id: PermissionId, decision: Decision, by: Decider },
    #[error("the question `{id}` does not offer that answer: choose from {}", words(.offers))]
    NotOffered { id: PermissionId, offers: Vec<Decision> },
    #[error("only an orchestrator can answer permission questions")]
    NotAnOrchestrator,
    #[error("only an orchestrator can run workflows")]
    CannotLead,
    #[error(
        "there is no workflow `{id}`, or it is too old to be found: get_workflow_status without an id lists them"
    )]
    UnknownWorkflow { id: WorkflowId },
    #[error("the workflow `{id}` {} already", .status.phrase())]
    WorkflowOver { id: WorkflowId, status: WorkflowStatus },
    #[error("the workflow `{id}` is already being run by `{by}`")]
    LedByAnother { id: WorkflowId, by: Name },
    #[error(
        "{} workflows are unfinished, which is the limit: wait, or cancel one with cancel_workflow",
        limits::MAX_WORKFLOWS
    )]
    TooManyWorkflows,
    #[error("the workflow `{id}` has no step `{step}`")]
    UnknownStep { id: WorkflowId, step: Name },
    /// The status of the step does not allow the move.
    #[error("the step `{step}` is {}, so this does not apply to it", .status.as_str())]
    StepElsewhere { step: Name, status: StepStatus },
    #[error(
        "the list for step `{step}` has {}; the limits are {} items per list, and {} \
            steps and items per workflow",
        counted(*.count, "item"),
        limits::MAX_ITEMS,
        limits::MAX_PLAYED
    )]
    TooManyItems { step: Name, count: u32 },
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
    #[error(
        "`{name}` is being stopped: assign the task to another agent, or to a new one of its \
            profile"
    )]
    Stopping { name: Name },
    #[error("`{name}` is in a turn: the next task starts when it ends")]
    TurnRuns { name: Name },
    #[error(
        "`{name}` has {}, which is the limit: assign the task to another agent, or wait",
        counted(*.limit, "queued task")
    )]
    QueueFull { name: Name, limit: usize },
    #[error(
        "no member has that name: `all` reaches all members, and `request_task` offers work to all"
    )]
    ToAll,
    /// A group of which there is no live member.
    #[error(transparent)]
    NobodyFits(Box<NobodyFits>),
    #[error("there is no other live member that could read it")]
    NobodyElse,
    /// A tag that no project has.
    #[error(transparent)]
    UnknownProject(#[from] UnknownProject),
    #[error(transparent)]
    Elsewhere(#[from] ElsewhereError),
    /// Nobody in another project could answer.
    #[error(
        "this project has no tag of its own, so nobody in another one could answer: your user adds it \
            under [projects] of their own configuration, and starts a session again"
    )]
    NoOwnTag,
    /// What no other project knows.
    #[error(
        "{what} does not cross to another project: text, payload, inline attachments, priority, answers \
            and what asks, answers, warns or reports progress do"
    )]
    DoesNotCross { what: String },
    /// Only messages go to other projects.
    #[error("`{tag}:` is another project: only send_message reaches its members")]
    OtherProject { tag: Label },
    /// The person at the command line can go there themself.
    #[error(
        "`{tag}:` is another project: its members are written to on its own bus, as `cli-team-bridge send {tag}:NAME` does"
    )]
    PersonElsewhere { tag: Label },
    /// Shown to nobody: it was not to arrive twice.
    #[error("the message arrived before: it is `{id}`")]
    Arrived { id: MessageId },
    /// Shown to nobody: its own bus has ended it.
    #[error("the message is over there")]
    ArrivedLate,
    /// Shown to nobody: earlier ones of its bus come first.
    #[error("an earlier message is not here yet")]
    ArrivedEarly,
    /// The text begins as a group, and goes on otherwise.
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error(
        "you follow {}, which is the limit: leave one with update_claim",
        counted(*.limit, "topic")
    )]
    TooManyTopics { limit: usize },
    #[error("you do not follow `#{topic}`")]
    NotFollowed { topic: Label },
    #[error("only the bridge that runs this agent can do this")]
    NotTheOwner,
    #[error("there is no key `{id}`")]
    UnknownKey { id: KeyId },
    #[error("{} keys are valid, which is the limit: revoke one", limits::MAX_KEYS)]
    TooManyKeys,
    #[error("this wait already received a message")]
    AlreadyDelivered,
}
