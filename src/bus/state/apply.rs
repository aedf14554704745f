//! How each event changes the state.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{
    BodyRef, Chunked, Claim, Due, EndedSession, Member, Message, Origin, Request, ResumeInfo,
    Session, State, StopMode, Task, Wait, size_bounds,
};
use crate::bus::event::{
    Body, Entry, Event, Finished, Joined, LogPosition, MessageSent, RequestOpened, Starting,
    TaskAssigned,
};
use crate::domain::ids::{MessageId, RequestId, SessionId, TaskId};
use crate::domain::limits;
use crate::domain::member::{Activity, Departure, MemberKind, Tools};
use crate::domain::messaging::{MessageKind, RequestStatus};
use crate::domain::name::Name;
use crate::domain::task::TaskStatus;
use crate::domain::time::{Now, Tick};

use super::Delivery;

/// Where and when an event stands.
pub(super) struct At {
    pub(super) seq: u64,
    pub(super) ts: i64,
    pub(super) tick: Tick,
    place: LogPosition,
    index: u16,
}

impl At {
    fn origin(&self) -> Origin {
        Origin { seq: self.seq, wall_ms: self.ts, place: self.place, index: self.index }
    }

    pub(super) fn wall_ms(&self) -> i64 {
        self.ts
    }

    pub(super) fn body(&self, body: &Body) -> BodyRef {
        self.origin().body(body.bytes())
    }
}

impl State {
    /// Takes an entry as a fact. `indices` tells which events of the line these are, when some were skipped.
    pub fn apply(&mut self, entry: &Entry, indices: &[u16], place: LogPosition) {
        if entry.tick.boot != self.boot {
            let last_ms = self.watch.ms_of(self.boot);
            self.boot = entry.tick.boot;
            self.timers.carry_over(last_ms, entry.tick.ms);
        }
        self.watch = self.watch.after(Now { wall_ms: entry.ts, tick: entry.tick });
        self.remember(entry);
        for (event, index) in entry.events.iter().zip(indices) {
            let seq = entry.seq.saturating_add(u64::from(*index));
            self.apply_event(
                event,
                &At { seq, ts: entry.ts, tick: entry.tick, place, index: *index },
            );
        }
        if !self.newcomers.is_empty() {
            self.look_after_newcomers();
        }
    }

    /// Remembers the command, and that its session did something.
    fn remember(&mut self, entry: &Entry) {
        if let Some(session) = entry.by.and_then(|by| self.sessions.get_mut(&by)) {
            session.last_ms = entry.ts;
        }
        if self.command_set.insert(entry.id) {
            self.commands.push_back(entry.id);
        }
        while self.commands.len() > limits::KEPT_COMMANDS {
            if let Some(oldest) = self.commands.pop_front() {
                self.command_set.remove(&oldest);
            }
        }
    }

    fn apply_event(&mut self, event: &Event, at: &At) {
        match event {
            Event::MemberStarting(starting) => self.member_starting(starting, at),
            Event::MemberJoined(joined) => self.member_joined(joined, at),
            Event::MemberActivity { session, activity } => {
                self.member_activity(*session, *activity, at);
            }
            Event::MemberWays { session, .. }
            | Event::MemberModel { session, .. }
            | Event::MemberTools { session, .. } => self.member_trait(*session, event),
            Event::MemberLeft { session, departure, detail } => {
                self.member_left(*session, *departure, detail.as_deref(), at)
            }
            Event::MemberForgotten { name } => self.member_forgotten(name),
            Event::AgentRuns(_)
            | Event::AgentSwept { .. }
            | Event::AgentStirred { .. }
            | Event::AgentStalled { .. }
            | Event::AgentStuck { .. }
            | Event::AgentFree { .. }
            | Event::AgentCrashed { .. }
            | Event::MemberHung { .. }
            | Event::MemberBack { .. }
            | Event::LimitsSet(_) => self.apply_health(event, at),
            Event::MessageSent(sent) => self.message_sent(sent, at),
            Event::MessageAddressed { id, to } => self.put_into_inboxes(id, to),
            Event::MessageHanded { ids, member, session, call, way } => {
                self.message_handed(ids, member, (*session, *call, *way), at);
            }
            Event::MessageReturned { session, call } => self.message_returned(*session, *call),
            Event::MessageSeen { session, call } => self.message_seen(*session, *call),
            Event::AnswerWritten(written) => self.answer_written(written),
            Event::MessageSuperseded { id, members } => {
                for name in self.in_inbox_of(id, members) {
                    self.settle(id, &name, Delivery::Superseded);
                    self.forget_member_if_idle(&name);
                }
            }
            Event::MessageExpired { id, member } => {
                self.settle(id, member, Delivery::Expired);
                self.forget_member_if_idle(member);
            }
            Event::WaitStarted { session, call, from, request, timeout_ms } => {
                let wait = Wait { call: *call, from: from.clone(), request: request.clone() };
                self.wait_started(*session, wait, *timeout_ms, at);
            }
            Event::WaitEnded { session, call } => self.wait_ended(*session, *call),
            Event::RequestOpened(opened) => self.request_opened(opened, at),
            Event::RequestNudged { id } => self.timers.stop(&Due::Nudge(id.clone())),
            Event::RequestClaimed { id, by, session } => self.request_claimed(id, by, *session, at),
            Event::ClaimUnheard(unheard) => self.claim_unheard(unheard, at),
            Event::ClaimKnown(known) => self.claim_known(known),
            Event::RequestReopened { id } => self.request_reopened(id, at),
            Event::RequestCompleted { id, .. } => self.request_ended(id, RequestStatus::Completed),
            Event::RequestExpired { id } => self.request_ended(id, RequestStatus::Expired),
            Event::TaskAssigned(assigned) => self.task_assigned(assigned, at),
            Event::TaskStarted { id } | Event::TaskResumed { id } => self.task_started(id, at),
            Event::TaskCancelAsked { id, .. } => {
                if let Some(task) = self.tasks.get_mut(id) {
                    task.cancel_asked = true;
                }
            }
            Event::TaskFinished(finished) => self.task_finished(finished, at),
            Event::StopAsked { session, kill, .. } => self.stop_asked(*session, *kill),
            Event::PermissionAsked(_)
            | Event::PermissionTold { .. }
            | Event::PermissionAnswered(_) => self.permission_event(event, at),
            Event::WorkflowCreated(_)
            | Event::WorkflowResumed(_)
            | Event::WorkflowCancelAsked { .. }
            | Event::WorkflowEnded { .. }
            | Event::StepAsked(_)
            | Event::StepApproved(_)
            | Event::StepStarted(_)
            | Event::StepSpread(_)
            | Event::StepReturned(_)
            | Event::StepEnded(_) => self.workflow_event(event, at),
            Event::SegmentFailed { .. } => {}
        }
    }

    /// Notes what a member is like.
    fn member_trait(&mut self, session: SessionId, event: &Event) {
        let Some(session) = self.sessions.get_mut(&session) else {
            return;
        };
        match event {
            Event::MemberWays { ways, .. } => session.ways.clone_from(ways),
            Event::MemberModel { model, .. } => {
                session.model = size_bounds::name(Some(model), limits::MODEL_BYTES);
            }
            Event::MemberTools { tools, .. } => session.tools = *tools,
            _ => {}
        }
    }

    fn member_activity(&mut self, session: SessionId, activity: Activity, at: &At) {
        if let Some(session) = self.sessions.get_mut(&session) {
            session.activity = activity;
            session.stalled = false;
            session.last_ms = at.ts;
        }
    }

    fn stop_asked(&mut self, session: SessionId, kill: bool) {
        let Some(session) = self.sessions.get_mut(&session) else {
            return;
        };
        let wanted = if kill { StopMode::AtOnce } else { StopMode::Gracefully };
        if session.stop != Some(StopMode::AtOnce) {
            session.stop = Some(wanted);
        }
        session.activity = Activity::Stopping;
    }

    fn member_starting(&mut self, starting: &Starting, at: &At) {
        let session = Session {
            id: starting.session,
            name: starting.name.clone(),
            kind: MemberKind::Agent,
            profile: Some(starting.profile.clone()),
            model: size_bounds::name(starting.model.as_ref(), limits::MODEL_BYTES),
            cwd: Some(starting.cwd.clone()),
            roles: starting.roles.clone(),
            owner: Some(starting.owner),
            token_hash: Some(starting.token_hash.clone()),
            pid: None,
            client: None,
            activity: Activity::Starting,
            tools: Tools::Unproven,
            since_seq: at.seq,
            since: at.tick,
            last_ms: at.ts,
            running: None,
            queue: VecDeque::new(),
            stop: None,
            handed: BTreeMap::new(),
            unheard: BTreeMap::new(),
            written: BTreeSet::new(),
            held_since: BTreeMap::new(),
            waits: Vec::new(),
            run: None,
            stalled: false,
            stuck: false,
            hung: false,
            restarts: 0,
            ways: Vec::new(),
        };
        self.enter(session, starting.chosen);
    }

    fn member_joined(&mut self, joined: &Joined, at: &At) {
        if let Some(session) = self.sessions.get_mut(&joined.session) {
            session.pid = Some(joined.pid);
            session.model = size_bounds::name(joined.model.as_ref(), limits::MODEL_BYTES)
                .or(session.model.take());
            session.activity = Activity::Idle;
            return;
        }
        let session = Session {
            id: joined.session,
            name: joined.name.clone(),
            kind: joined.kind,
            profile: None,
            model: size_bounds::name(joined.model.as_ref(), limits::MODEL_BYTES),
            cwd: None,
            roles: joined.roles.clone(),
            owner: None,
            token_hash: None,
            pid: Some(joined.pid),
            client: joined.client,
            activity: Activity::Idle,
            tools: Tools::Ready,
            since_seq: at.seq,
            since: at.tick,
            last_ms: at.ts,
            running: None,
            queue: VecDeque::new(),
            stop: None,
            handed: BTreeMap::new(),
            unheard: BTreeMap::new(),
            written: BTreeSet::new(),
            held_since: BTreeMap::new(),
            waits: Vec::new(),
            run: None,
            stalled: false,
            stuck: false,
            hung: false,
            restarts: 0,
            ways: Vec::new(),
        };
        self.enter(session, joined.chosen);
    }

    fn enter(&mut self, session: Session, chosen: bool) {
        self.absent.remove(&session.name);
        let name = session.name.clone();
        let member = self.members.entry(name.clone()).or_insert_with(|| Member {
            name: name.clone(),
            chosen,
            session: None,
            unread: Chunked::default(),
            unread_bytes: 0,
        });
        member.name = name;
        member.chosen = chosen;
        member.session = Some(session.id);
        if self.open_requests().next().is_some() {
            self.newcomers.insert(session.id);
        }
        self.sessions.insert(session.id, session);
    }

    fn member_left(&mut self, id: SessionId, departure: Departure, detail: Option<&str>, at: &At) {
        let calls: Vec<_> = self
            .sessions
            .get(&id)
            .map(|session| session.handed.keys().copied().collect())
            .unwrap_or_default();
        for call in calls {
            self.message_returned(id, call);
        }
        let Some(session) = self.sessions.remove(&id) else {
            return;
        };
        for wait in &session.waits {
            self.timers.stop(&Due::Wait(id, wait.call));
        }
        for call in session.unheard.values() {
            self.timers.stop(&Due::Handed(id, *call));
        }
        self.permissions_end(id);
        self.workflows_left_by(id);
        if let Some(member) = self.members.get_mut(&session.name)
            && member.session == Some(id)
        {
            member.session = None;
            // Where mail does not wait, what does not fit into the append of the leaving is given up at once.
            let waits = member.chosen || departure.leaves_mail_waiting(session.kind);
            self.name_is_absent(&session.name, waits.then_some(at.ts));
        }
        self.reopen_soon(id, at);
        if departure == Departure::Dead && session.kind == MemberKind::Agent {
            self.leave_to_be_swept(id, session.run.clone());
        }
        self.forget_member_if_idle(&session.name);
        let past = session.profile.zip(session.cwd).map(|(profile, cwd)| ResumeInfo {
            profile,
            cwd,
            model: session.model,
            acp_session: session.run.and_then(|run| run.acp_session),
        });
        self.departed.push_back(EndedSession {
            past,
            name: session.name,
            session: id,
            kind: session.kind,
            departure,
            detail: detail.map(size_bounds::words),
            since: session.since,
            at: at.tick,
            last_ms: session.last_ms,
        });
        while self.departed.len() > limits::KEPT_DEPARTED {
            self.departed.pop_front();
        }
    }

    /// Forgets a name that nobody has, once its inbox is empty: at once where nobody chose it and nothing that it assigned still has
    /// to end, else when its time of waiting is over.
    pub(super) fn forget_member_if_idle(&mut self, name: &Name) {
        let Some(member) = self.members.get(name) else {
            return;
        };
        let is_left = member.session.is_none() && member.unread.is_empty();
        let waits = || member.chosen || self.has_tasks_by(name);
        if is_left && !(self.absent.contains_key(name) && waits()) {
            self.absent.remove(name);
            self.members.remove(name);
        }
    }

    /// Forgets a name. What came into its inbox in the very same append is given up by the next.
    fn member_forgotten(&mut self, name: &Name) {
        self.absent.remove(name);
        if let Some(member) = self.members.get_mut(name) {
            let is_unread = |id: &MessageId| {
                let message = self.messages.get(id);
                let delivery = message.and_then(|message| message.delivery(name));
                matches!(delivery, Some(Delivery::Unread { .. }))
            };
            let unread = member.unread.iter().filter(|(_, id)| is_unread(id));
            member.unread = unread.map(|(seq, id)| (*seq, id.clone())).collect();
        }
        self.rebuild_inboxes();
        self.forget_member_if_idle(name);
        let is_left = |member: &Member| member.session.is_none();
        if self.members.get(name).is_some_and(is_left) {
            self.name_is_absent(name, None);
        }
    }

    fn message_sent(&mut self, sent: &MessageSent, at: &At) {
        if sent.kind == MessageKind::Notice {
            for id in sent.task.iter().chain(&sent.ends) {
                if let Some(task) = self.tasks.get_mut(id) {
                    task.notice = Some(sent.id.clone());
                }
            }
        }
        let message = Message::sent(sent, at.origin());
        self.message_arrives(message, &sent.to);
    }

    fn request_opened(&mut self, opened: &RequestOpened, at: &At) {
        let body = at.origin().body(opened.bytes());
        let request = Request {
            id: opened.id.clone(),
            message: opened.message.clone(),
            seq: at.seq,
            from: opened.from.clone(),
            opened_ms: at.ts,
            status: RequestStatus::Open,
            owner: None,
            body,
            open_left_ms: opened.ttl_ms,
            nudge_left_ms: Some(opened.nudge_ms),
        };
        self.timers.stop(&Due::Reopen(opened.id.clone()));
        self.timers.start(Due::Nudge(opened.id.clone()), at.tick.ms, opened.nudge_ms);
        self.timers.start(Due::Expire(opened.id.clone()), at.tick.ms, opened.ttl_ms);
        self.put_request(request);
        let message = Message::opened(opened, at.origin());
        self.message_arrives(message, &opened.to);
    }

    fn request_claimed(&mut self, id: &RequestId, by: &Name, session: SessionId, at: &At) {
        let (nudge, expire) = (Due::Nudge(id.clone()), Due::Expire(id.clone()));
        let nudge_left_ms =
            self.timers.runs(&nudge).then(|| self.timers.left_ms(&nudge, at.tick.ms));
        let open_left_ms = self.timers.left_ms(&expire, at.tick.ms);
        let is_known = self.change_request(id, |request| {
            request.status = RequestStatus::Claimed;
            request.owner = Some(Claim { by: by.clone(), session, fence: at.seq });
            request.nudge_left_ms = nudge_left_ms;
            request.open_left_ms = open_left_ms;
        });
        if !is_known {
            return;
        }
        self.timers.stop(&nudge);
        self.timers.stop(&expire);
        self.timers.stop(&Due::Reopen(id.clone()));
    }

    fn request_reopened(&mut self, id: &RequestId, at: &At) {
        self.end_unheard(id);
        self.timers.stop(&Due::Reopen(id.clone()));
        self.change_request(id, |request| {
            request.status = RequestStatus::Open;
            request.owner = None;
        });
        let Some(request) = self.requests.get(id) else {
            return;
        };
        if let Some(left) = request.nudge_left_ms {
            self.timers.start(Due::Nudge(id.clone()), at.tick.ms, left);
        }
        self.timers.start(Due::Expire(id.clone()), at.tick.ms, request.open_left_ms);
    }

    fn request_ended(&mut self, id: &RequestId, status: RequestStatus) {
        self.end_unheard(id);
        self.timers.stop(&Due::Nudge(id.clone()));
        self.timers.stop(&Due::Expire(id.clone()));
        self.timers.stop(&Due::Reopen(id.clone()));
        self.change_request(id, |request| request.status = status);
        let Some(request) = self.requests.get(id) else {
            return;
        };
        let message = request.message.clone();
        self.end_message_if_settled(&message);
        self.ended_requests.push_back(id.clone());
        while self.ended_requests.len() > limits::KEPT_ENDED {
            if let Some(oldest) = self.ended_requests.pop_front() {
                self.forget_request(&oldest);
            }
        }
    }

    fn task_assigned(&mut self, assigned: &TaskAssigned, at: &At) {
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

    fn task_started(&mut self, id: &TaskId, at: &At) {
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

    fn task_finished(&mut self, finished: &Finished, at: &At) {
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

    /// Returns the message with that id, if the state still has its header.
    pub fn message(&self, id: &MessageId) -> Option<&Message> {
        self.messages.get(id)
    }
}
