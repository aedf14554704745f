//! How the events of members change the state.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::bus::event::{Described, Event, Joined, Starting};
use crate::bus::state::event_place::At;
use crate::bus::state::{
    Chunked, Delivery, Due, EndedSession, Member, Session, State, StopMode, size_bounds,
};
use crate::domain::ids::{MessageId, SessionId};
use crate::domain::limits;
use crate::domain::member::{
    Activity, Departure, HOST_NAME_BYTES, Host, MemberKind, Tools, Traits,
};
use crate::domain::name::Name;

impl Session {
    /// Returns a new session without activity.
    fn begun(id: SessionId, name: Name, kind: MemberKind, at: &At) -> Self {
        Self {
            id,
            number: None,
            name,
            kind,
            profile: None,
            model: None,
            cwd: None,
            roles: Vec::new(),
            traits: Traits::default(),
            lanes: Vec::new(),
            owner: None,
            token_hash: None,
            pid: None,
            client: None,
            activity: Activity::Starting,
            tools: Tools::Unproven,
            since_seq: at.seq,
            since: at.tick,
            last_ms: at.ts,
            called_ms: None,
            running: None,
            queue: VecDeque::new(),
            stop: None,
            in_flight: BTreeMap::new(),
            unheard: BTreeMap::new(),
            written: BTreeSet::new(),
            held_since: BTreeMap::new(),
            waits: Vec::new(),
            run: None,
            stalled: false,
            stuck: false,
            hung: false,
            restarts: 0,
            used_beside_tasks: None,
            methods: Vec::new(),
        }
    }
}

impl State {
    /// Notes a property of an agent: its delivery methods, its model, its tools.
    pub(in crate::bus::state) fn member_trait(&mut self, session: SessionId, event: &Event) {
        let Some(session) = self.sessions.get_mut(&session) else {
            return;
        };
        match event {
            Event::MemberMethods { methods, .. } => session.methods.clone_from(methods),
            Event::MemberModel { model, .. } => {
                session.model = size_bounds::name(Some(model), limits::MODEL_BYTES);
            }
            Event::MemberTools { tools, .. } => session.tools = *tools,
            Event::TurnUsed { usage, .. } => {
                let before = session.used_beside_tasks.take().unwrap_or_default();
                session.used_beside_tasks = Some(before.and(usage));
            }
            _ => {}
        }
    }

    pub(in crate::bus::state) fn member_activity(
        &mut self,
        session: SessionId,
        activity: Activity,
        at: &At,
    ) {
        if let Some(session) = self.sessions.get_mut(&session) {
            session.activity = activity;
            session.stalled = false;
            session.last_ms = at.ts;
        }
        self.turn_changed(session, at);
    }

    pub(in crate::bus::state) fn stop_asked(&mut self, id: SessionId, kill: bool, at: &At) {
        let Some(session) = self.sessions.get_mut(&id) else {
            return;
        };
        let mode = if kill { StopMode::AtOnce } else { StopMode::Gracefully };
        if session.stop != Some(StopMode::AtOnce) {
            session.stop = Some(mode);
        }
        session.activity = Activity::Stopping;
        self.turn_changed(id, at);
    }

    pub(in crate::bus::state) fn member_starting(&mut self, starting: &Starting, at: &At) {
        let session = Session {
            profile: Some(starting.profile.clone()),
            model: size_bounds::name(starting.model.as_ref(), limits::MODEL_BYTES),
            cwd: Some(starting.cwd.clone()),
            roles: starting.roles.clone(),
            owner: Some(starting.owner),
            token_hash: Some(starting.token_hash.clone()),
            activity: Activity::Starting,
            ..Session::begun(starting.session, starting.name.clone(), MemberKind::Agent, at)
        };
        self.enter(session, starting.chosen);
    }

    pub(in crate::bus::state) fn member_joined(&mut self, joined: &Joined, at: &At) {
        if let Some(session) = self.sessions.get_mut(&joined.session) {
            session.pid = Some(joined.pid);
            session.model = size_bounds::name(joined.model.as_ref(), limits::MODEL_BYTES)
                .or(session.model.take());
            session.activity = Activity::Idle;
            self.turn_changed(joined.session, at);
            return;
        }
        let session = Session {
            model: size_bounds::name(joined.model.as_ref(), limits::MODEL_BYTES),
            roles: joined.roles.clone(),
            pid: Some(joined.pid),
            client: joined.client,
            activity: Activity::Idle,
            tools: Tools::Ready,
            ..Session::begun(joined.session, joined.name.clone(), joined.kind, at)
        };
        self.enter(session, joined.chosen);
    }

    /// Notes the number of a session and what it says of itself. The number counts as given even if the session is unknown.
    pub(in crate::bus::state) fn member_described(&mut self, described: &Described) {
        self.last_number = self.last_number.max(Some(described.number));
        if let Some(session) = self.sessions.get_mut(&described.session) {
            session.number = Some(described.number);
            session.traits = described.traits.clone();
            if described.cwd.is_some() {
                session.cwd.clone_from(&described.cwd);
            }
            if let Some(host) = &described.host {
                let name = size_bounds::beginning(&host.name, HOST_NAME_BYTES);
                self.hosts.insert(described.session, Host { name, ..*host });
            }
        }
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
            returned: BTreeSet::new(),
            pace: None,
        });
        member.name = name;
        member.chosen = chosen;
        member.session = Some(session.id);
        if self.open_requests().next().is_some() {
            self.newcomers.insert(session.id);
        }
        self.sessions.insert(session.id, session);
    }

    pub(in crate::bus::state) fn member_left(
        &mut self,
        id: SessionId,
        (departure, detail): (Departure, Option<&str>),
        alive_ms: Option<i64>,
        at: &At,
    ) {
        let calls: Vec<_> = self
            .sessions
            .get(&id)
            .map(|session| session.in_flight.keys().copied().collect())
            .unwrap_or_default();
        for call in calls {
            self.message_requeued(id, call);
        }
        let Some(mut session) = self.sessions.remove(&id) else {
            return;
        };
        // The last event of a session may be hours older than its death: one that is at work writes none, but its presence beats.
        let alive_ms = alive_ms.map_or(session.last_ms, |alive_ms| alive_ms.min(at.ts));
        session.last_ms = session.last_ms.max(alive_ms);
        for wait in &session.waits {
            self.timers.stop(&Due::Wait(id, wait.call));
        }
        for call in session.unheard.values() {
            self.timers.stop(&Due::Requeue(id, *call));
        }
        self.permissions_end(id);
        self.placements_left_by(id);
        // A dead session is found some time after its end, often by the next process of the project.
        let is_dead = departure == Departure::Dead;
        self.lead = self.lead.filter(|lead| *lead != id);
        self.workflows_left_by(id, if is_dead { session.last_ms } else { at.ts });
        if let Some(member) = self.members.get_mut(&session.name)
            && member.session == Some(id)
        {
            member.session = None;
            let limits = &self.limits;
            member.pace = member.pace.take().filter(|pace| pace.lasts(limits, at.tick.ms));
            // If mail does not wait, the messages that did not fit into the append of the departure are abandoned at once.
            let waits = member.chosen || departure.leaves_mail_waiting(session.kind);
            self.name_is_absent(&session.name, waits.then_some(at.ts));
        }
        self.reopen_soon(id, at);
        let host = self.host_of(id).map(|host| host.name.clone());
        if is_dead && session.kind == MemberKind::Agent {
            self.leave_to_be_swept(id, session.run.clone());
        } else {
            self.hosts.remove(&id);
        }
        self.forget_member_if_idle(&session.name);
        let ended = EndedSession::of(session, host, departure, detail, at.tick);
        ended.record_in(&mut self.departed);
    }

    /// Forgets a name without a session once its inbox is empty: at once if it was generated and all tasks that it assigned have
    /// ended, else when its waiting time is over.
    pub(in crate::bus::state) fn forget_member_if_idle(&mut self, name: &Name) {
        let Some(member) = self.members.get(name) else {
            return;
        };
        let is_left = member.session.is_none() && member.unread.is_empty();
        let waits = || member.chosen || self.has_tasks_by(name);
        if is_left && !(self.absent.contains_key(name) && waits()) {
            self.absent.remove(name);
            self.members.remove(name);
            self.forget_awaited_by(name);
        }
    }

    /// Forgets a name. The next append abandons messages that reached its inbox in this one.
    pub(in crate::bus::state) fn member_forgotten(&mut self, name: &Name) {
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
}
