//! How the events of tasks change the state.

use crate::bus::event::{Finished, TaskAssigned};
use crate::bus::state::event_place::At;
use crate::bus::state::{State, Task, size_bounds};
use crate::domain::ids::{SessionId, TaskId, WorkflowId};
use crate::domain::limits;
use crate::domain::member::Activity;
use crate::domain::messaging::Author;
use crate::domain::name::Name;
use crate::domain::task::TaskStatus;

impl State {
    pub(in crate::bus::state) fn task_assigned(&mut self, assigned: &TaskAssigned, at: &At) {
        let host = self.host_of(assigned.session);
        let task = Task {
            id: assigned.id.clone(),
            session: assigned.session,
            agent: assigned.agent.clone(),
            host: host.map(|host| host.name.clone()),
            host_id: host.map(|host| host.id),
            by: assigned.by.clone(),
            status: TaskStatus::Queued,
            cancel_asked: false,
            cancelled_by: None,
            model: size_bounds::name(assigned.model.as_ref(), limits::MODEL_BYTES),
            fresh: assigned.fresh,
            permissions: assigned.permissions,
            workflow: assigned.workflow.clone(),
            priority: assigned.priority,
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
            let goes_after = |queued: &TaskId| {
                let queued = self.tasks.get(queued);
                queued.is_none_or(|queued| queued.priority >= assigned.priority)
            };
            let place = session.queue.iter().rposition(goes_after).map_or(0, |last| last + 1);
            session.queue.insert(place, assigned.id.clone());
        }
        self.placements.remove(&assigned.id);
        self.tasks.insert(assigned.id.clone(), task);
    }

    pub(in crate::bus::state) fn task_cancel_asked(&mut self, id: &TaskId, by: &Name, human: bool) {
        if let Some(task) = self.tasks.get_mut(id) {
            task.cancel_asked = true;
            task.cancelled_by.get_or_insert(asker(by, human));
        }
    }

    /// Notes who ends the open tasks of an agent with it. One that ends otherwise first was not cancelled.
    pub(in crate::bus::state) fn stopped_with_agent(
        &mut self,
        agent: SessionId,
        by: &Name,
        human: bool,
    ) {
        self.cancelled_by(|task| task.session == agent, by, human);
    }

    /// Notes who cancels the tasks that a workflow has begun: its bridge only passes that on.
    pub(in crate::bus::state) fn cancelled_with_workflow(
        &mut self,
        id: &WorkflowId,
        by: &Name,
        human: bool,
    ) {
        self.cancelled_by(|task| task.workflow.as_ref() == Some(id), by, human);
    }

    fn cancelled_by(&mut self, is_one: impl Fn(&Task) -> bool, by: &Name, human: bool) {
        let open = self.tasks.values().filter(|task| !task.status.is_final() && is_one(task));
        let open: Vec<_> = open.map(|task| task.id.clone()).collect();
        for id in open {
            if let Some(task) = self.tasks.get_mut(&id) {
                task.cancelled_by.get_or_insert(asker(by, human));
            }
        }
    }

    pub(in crate::bus::state) fn task_started(&mut self, id: &TaskId, at: &At) {
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
            let session = session.id;
            self.turn_changed(session, at);
        }
    }

    pub(in crate::bus::state) fn task_finished(&mut self, finished: &Finished, at: &At) {
        // A dead agent is found some time after its end, often by the next process of the project: it worked until its last sign of life.
        let agent = self.tasks.get(&finished.id).map(|task| task.session);
        let died_ms = agent.and_then(|agent| self.died_ms(agent));
        let Some(task) = self.tasks.get_mut(&finished.id) else {
            return;
        };
        task.status = finished.status;
        if task.status != TaskStatus::Cancelled && !task.cancel_asked {
            task.cancelled_by = None;
        }
        let begun_ms = task.started_ms.unwrap_or(task.queued_ms);
        task.ended_ms = Some(died_ms.map_or(at.ts, |died_ms| died_ms.max(begun_ms).min(at.ts)));
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
                session.last_ms = at.wall_ms();
                if session.activity == Activity::Running {
                    session.activity = Activity::Idle;
                }
            }
            let session = session.id;
            self.turn_changed(session, at);
        }
        self.ended_tasks.push_back(finished.id.clone());
        while self.ended_tasks.len() > limits::KEPT_ENDED {
            if let Some(oldest) = self.ended_tasks.pop_front() {
                self.tasks.remove(&oldest);
            }
        }
    }
}

fn asker(by: &Name, human: bool) -> Author {
    if human { Author::Human } else { Author::Member(by.clone()) }
}
