//! Tasks without their texts: where each stands, and how its events change that.

use serde::{Deserialize, Serialize};

use super::apply::At;
use super::{BodyRef, State, size_bounds};
use crate::bus::event::{Finished, TaskAssigned};
use crate::domain::ids::{MessageId, SessionId, TaskId, WorkflowId};
use crate::domain::limits;
use crate::domain::member::Activity;
use crate::domain::name::Name;
use crate::domain::permission::Policy;
use crate::domain::task::result::{Context, Usage};
use crate::domain::task::{TaskError, TaskStatus};

/// A task without its texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub id: TaskId,
    pub session: SessionId,
    pub agent: Name,
    pub by: Name,
    pub status: TaskStatus,
    /// Whether its end is asked for.
    pub cancel_asked: bool,
    /// The model asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether it begins a new session of the agent.
    pub fresh: bool,
    /// What the agent may do in it, where that is not the profile's to say.
    #[serde(default)]
    pub permissions: Option<Policy>,
    /// The workflow whose step it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<WorkflowId>,
    /// Where the prompt is.
    pub prompt: BodyRef,
    /// When it was assigned, in wall time.
    pub queued_ms: i64,
    /// When its turn began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<i64>,
    /// Where its output is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<BodyRef>,
    /// The last turn's stop reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TaskError>,
    /// What the agent's conversation knew at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Where in the output the agent's last words begin, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_words: Option<u64>,
    /// Whether the event of its end tells of files and failed calls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_details: bool,
    /// The notice to its assigner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<MessageId>,
}

impl State {
    /// Returns a task, if the state still has it.
    pub fn task(&self, id: &TaskId) -> Option<&Task> {
        self.tasks.get(id)
    }

    /// Returns the tasks of a session that the state still has.
    pub fn tasks_of(&self, session: SessionId) -> impl Iterator<Item = &Task> {
        self.tasks.values().filter(move |task| task.session == session)
    }

    /// Says whether a task was cancelled while the bridge that holds its agent hangs.
    pub fn is_unheard(&self, task: &Task) -> bool {
        let owner = self.session(task.session).and_then(|agent| agent.owner);
        let hangs = |owner| self.session(owner).is_some_and(|bridge| bridge.hung);
        task.cancel_asked && !task.status.is_final() && owner.is_some_and(hangs)
    }

    pub(super) fn task_assigned(&mut self, assigned: &TaskAssigned, at: &At) {
        let task = Task {
            id: assigned.id.clone(),
            session: assigned.session,
            agent: assigned.agent.clone(),
            by: assigned.by.clone(),
            status: TaskStatus::Queued,
            cancel_asked: false,
            model: size_bounds::name(assigned.model.as_ref(), limits::MODEL_BYTES),
            fresh: assigned.fresh,
            permissions: assigned.permissions,
            workflow: assigned.workflow.clone(),
            prompt: at.body(&assigned.prompt),
            queued_ms: at.ts,
            started_ms: None,
            ended_ms: None,
            output: None,
            stop_reason: None,
            error: None,
            context: None,
            usage: None,
            last_words: None,
            has_details: false,
            notice: None,
        };
        if let Some(session) = self.sessions.get_mut(&assigned.session) {
            session.queue.push_back(assigned.id.clone());
        }
        self.tasks.insert(assigned.id.clone(), task);
    }

    pub(super) fn task_started(&mut self, id: &TaskId, at: &At) {
        let Some(task) = self.tasks.get_mut(id) else {
            return;
        };
        task.status = TaskStatus::Running;
        task.started_ms.get_or_insert(at.ts);
        if let Some(session) = self.sessions.get_mut(&task.session) {
            session.queue.retain(|queued| queued != id);
            session.running = Some(id.clone());
            session.activity = Activity::Running;
            session.stalled = false;
            session.last_ms = at.ts;
        }
    }

    pub(super) fn task_finished(&mut self, finished: &Finished, at: &At) {
        let Some(task) = self.tasks.get_mut(&finished.id) else {
            return;
        };
        task.status = finished.status;
        task.ended_ms = Some(at.ts);
        task.output = Some(at.body(&finished.output));
        task.stop_reason = finished.stop_reason.as_deref().map(size_bounds::word);
        task.error = finished.error.as_ref().map(size_bounds::error);
        task.context = finished.report.context;
        task.usage.clone_from(&finished.report.usage);
        task.last_words = finished.report.last_words;
        task.has_details = finished.report.details.is_some();
        if let Some(session) = self.sessions.get_mut(&task.session) {
            session.stalled = false;
            session.queue.retain(|queued| queued != &finished.id);
            if session.running.as_ref() == Some(&finished.id) {
                session.running = None;
                if session.activity == Activity::Running {
                    session.activity = Activity::Idle;
                }
            }
        }
        self.ended_tasks.push_back(finished.id.clone());
        while self.ended_tasks.len() > limits::KEPT_ENDED {
            if let Some(oldest) = self.ended_tasks.pop_front() {
                self.tasks.remove(&oldest);
            }
        }
    }
}
