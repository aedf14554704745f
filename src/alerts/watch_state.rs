//! Finds what is worth a notification, by comparing the state of the bus with what it was at the last look.

use std::collections::BTreeSet;

use crate::bus::event::BodyRef;
use crate::bus::state::{Conflict, Session, State, Task, Workflow};
use crate::domain::alert_kind::AlertKind;
use crate::domain::ids::{MessageId, PermissionId, SessionId, TaskId, WorkflowId};
use crate::domain::messaging::ConflictStep;
use crate::domain::name::Name;
use crate::domain::task::TaskStatus;
use crate::domain::text::listed::listed;
use crate::domain::workflow::{StepStatus, WorkflowStatus};

/// What a notification is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    Permission(PermissionId),
    Approval(WorkflowId, Name),
    /// The message that asks.
    Question(MessageId),
    /// The thread of the disagreement.
    Decision(MessageId),
    Stuck(SessionId),
    Task(TaskId),
    Workflow(WorkflowId),
}

impl Subject {
    /// Says whether it concerns the user of the whole team, whom the lead tells. Whoever leads later has seen it, and tells nothing anew.
    fn is_of_team(&self) -> bool {
        matches!(self, Self::Question(_) | Self::Decision(_))
    }
}

/// Something that is worth a notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Alert {
    pub(super) kind: AlertKind,
    pub(super) subject: Subject,
    /// A sentence without its full stop, in our words.
    pub(super) words: String,
    /// Words of an agent or a plan, if the user wants them.
    pub(super) text: Option<AlertText>,
}

/// Where the words of an agent are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AlertText {
    Line(String),
    Stored(BodyRef),
}

/// What one bridge has seen so far.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Everything that stood at the last look; nothing before the first.
    seen: Option<BTreeSet<Subject>>,
}

impl Watch {
    /// Returns what is new since the last look. What stands at the first look is not new.
    pub(super) fn look(&mut self, state: &State, me: SessionId) -> Vec<Alert> {
        let mut standing = standing(state, me);
        let now: BTreeSet<_> = standing.iter().map(|alert| alert.subject.clone()).collect();
        let Some(seen) = self.seen.replace(now) else { return Vec::new() };
        let leads = state.is_lead(me);
        standing.retain(|alert| {
            !seen.contains(&alert.subject) && (leads || !alert.subject.is_of_team())
        });
        standing
    }
}

/// Says whether a subject still waits for somebody; what has ended stays ended.
pub(super) fn still_stands(state: &State, subject: &Subject) -> bool {
    match subject {
        Subject::Permission(id) => state.permission(id).is_some_and(|asked| asked.answer.is_none()),
        Subject::Approval(id, step) => state
            .workflow(id)
            .and_then(|workflow| workflow.step(step))
            .is_some_and(|step| step.status == StepStatus::Asking),
        Subject::Question(id) => state.asks_user(id),
        Subject::Decision(thread) => state.conflict(thread).is_some_and(asks_user),
        Subject::Stuck(session) => state.session(*session).is_some_and(is_stuck),
        Subject::Task(_) | Subject::Workflow(_) => true,
    }
}

/// Returns all that a user of a bridge would be notified of if it were new; what concerns the whole team, if that bridge leads.
fn standing(state: &State, me: SessionId) -> Vec<Alert> {
    let Some(own) = state.session(me) else { return Vec::new() };
    let is_mine = |session: &&Session| session.owner == Some(me);
    let permissions = state.open_permissions().into_iter().filter_map(|asked| {
        let agent = state.session(asked.question.session).filter(is_mine)?;
        Some(Alert {
            kind: AlertKind::Permission,
            subject: Subject::Permission(asked.id.clone()),
            words: format!("{} asks for permission ({})", agent.name, asked.id),
            text: Some(AlertText::Line(asked.question.title.clone())),
        })
    });
    let workflows = state.workflows();
    let approvals = workflows.iter().filter(|workflow| workflow.owner == Some(me));
    let approvals = approvals.filter(|workflow| !workflow.status.is_final()).flat_map(|workflow| {
        let asking = workflow.steps.iter().filter(|step| step.status == StepStatus::Asking);
        asking.map(|step| Alert {
            kind: AlertKind::Approval,
            subject: Subject::Approval(workflow.id.clone(), step.plan.name.clone()),
            words: format!("the step {} of {} waits for approval", step.plan.name, workflow.id),
            text: Some(AlertText::Line(workflow.name.clone())),
        })
    });
    let questions = state.questions_for_user().map(|message| Alert {
        kind: AlertKind::Question,
        subject: Subject::Question(message.id.clone()),
        words: format!("{} asks you something ({})", message.from, message.id),
        text: Some(AlertText::Stored(message.body)),
    });
    let undecided = state.open_conflicts().filter(|conflict| asks_user(conflict));
    let decisions = undecided.map(|conflict| {
        let names: Vec<_> = conflict.names().map(Name::as_str).collect();
        Alert {
            kind: AlertKind::Decision,
            subject: Subject::Decision(conflict.thread.clone()),
            words: format!(
                "{} disagree, and you are asked to decide ({})",
                listed(&names, "and"),
                conflict.thread
            ),
            text: None,
        }
    });
    let agents = state.live_sessions().into_iter().filter(is_mine);
    let stuck = agents.filter(|agent| is_stuck(agent)).map(|agent| Alert {
        kind: AlertKind::Stuck,
        subject: Subject::Stuck(agent.id),
        words: if agent.stuck {
            format!("{} does not end a cancelled turn", agent.name)
        } else {
            format!("{} shows no sign of life in its turn", agent.name)
        },
        text: None,
    });
    // The end of a step is not news: the workflow goes on, or ends.
    let tasks = state.tasks().filter(|task| task.by == own.name && task.workflow.is_none());
    let ended = workflows.iter().filter(|ended| ended.by == own.name || ended.owner == Some(me));
    permissions
        .chain(approvals)
        .chain(questions)
        .chain(decisions)
        .chain(stuck)
        .chain(tasks.filter_map(of_task))
        .chain(ended.filter_map(|workflow| of_workflow(workflow)))
        .collect()
}

fn asks_user(conflict: &Conflict) -> bool {
    conflict.is_open() && conflict.step == ConflictStep::Human
}

fn is_stuck(agent: &Session) -> bool {
    agent.stuck || agent.stalled
}

/// The user has cancelled a cancelled task.
fn of_task(task: &Task) -> Option<Alert> {
    let (kind, what) = match task.status {
        TaskStatus::Done => (AlertKind::Finished, "has finished"),
        TaskStatus::Failed => (AlertKind::Failed, "has failed in"),
        TaskStatus::Interrupted => (AlertKind::Failed, "was interrupted in"),
        TaskStatus::Queued | TaskStatus::Running | TaskStatus::Cancelled => return None,
    };
    Some(Alert {
        kind,
        subject: Subject::Task(task.id.clone()),
        words: format!("{} {what} {}", task.agent, task.id),
        text: Some(AlertText::Stored(task.prompt)),
    })
}

fn of_workflow(workflow: &Workflow) -> Option<Alert> {
    let is_news = matches!(workflow.status, WorkflowStatus::Done | WorkflowStatus::Failed);
    is_news.then(|| Alert {
        kind: AlertKind::Workflow,
        subject: Subject::Workflow(workflow.id.clone()),
        words: format!("the workflow {} {}", workflow.id, workflow.status.phrase()),
        text: Some(AlertText::Line(workflow.name.clone())),
    })
}
