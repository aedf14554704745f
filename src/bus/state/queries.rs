//! What everyone asks of the state.

use super::{
    Chunked, Delivery, EndedSession, Member, Message, Request, ResumeInfo, Session, State, Task,
    Wait,
};
use crate::domain::ids::{CallId, CommandId, MessageId, RequestId, SessionId, TaskId};
use crate::domain::member::{Activity, MemberKind, ProcessMark};
use crate::domain::messaging::{DeliveryMethod, MessageKind, RequestStatus};
use crate::domain::name::Name;
use crate::domain::time::Now;

impl State {
    /// Returns a live session.
    pub fn session(&self, id: SessionId) -> Option<&Session> {
        self.sessions.get(&id)
    }

    /// Returns a known name.
    pub fn member(&self, name: &Name) -> Option<&Member> {
        self.members.get(name)
    }

    /// Says whether a name is known that nobody chose.
    pub fn is_made_up(&self, name: &Name) -> bool {
        self.member(name).is_some_and(|member| !member.chosen)
    }

    /// Returns the live session of that name.
    pub fn live(&self, name: &Name) -> Option<&Session> {
        self.members.get(name)?.session.and_then(|id| self.sessions.get(&id))
    }

    /// Returns all live sessions, the longest here first.
    pub fn live_sessions(&self) -> Vec<&Session> {
        let mut all: Vec<_> = self.sessions.values().collect();
        all.sort_by_key(|session| session.since_seq);
        all
    }

    /// Returns the ids of all live sessions.
    pub fn session_ids(&self) -> impl Iterator<Item = SessionId> {
        self.sessions.keys().copied()
    }

    /// Returns the limits of the team.
    pub fn limits(&self) -> crate::domain::limits::TeamLimits {
        self.limits
    }

    /// Returns how many agents live.
    pub fn live_agents(&self) -> usize {
        let is_agent = |session: &&Session| session.kind == MemberKind::Agent;
        self.sessions.values().filter(is_agent).count()
    }

    /// Returns every known name.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.members.values().map(|member| &member.name)
    }

    /// Returns the sessions that left last, oldest first.
    pub fn departed(&self) -> impl DoubleEndedIterator<Item = &EndedSession> {
        self.departed.iter()
    }

    /// Returns how the last agent of a name lived that has left, if that is remembered.
    pub fn past_agent(&self, name: &Name) -> Option<(&EndedSession, &ResumeInfo)> {
        let mut of_name = self.departed.iter().rev().filter(|left| left.name == *name);
        of_name.find_map(|left| Some((left, left.past.as_ref()?)))
    }

    /// Returns a request, if the state still has it.
    pub fn request(&self, id: &RequestId) -> Option<&Request> {
        self.requests.get(id)
    }

    /// Returns the requests that are open or claimed.
    pub fn unanswered_requests(&self) -> impl Iterator<Item = &Request> {
        self.requests.values().filter(|request| !request.status.is_final())
    }

    /// Returns the requests that a session holds.
    pub fn claimed_by(&self, session: SessionId) -> impl Iterator<Item = &Request> {
        self.requests.values().filter(move |request| {
            request.status == RequestStatus::Claimed
                && request.owner.as_ref().is_some_and(|owner| owner.session == session)
        })
    }

    /// Says whether a member has nothing to do and holds nothing that somebody waits for: no task, no mail, no call that waits, no
    /// question, no request of its own, and none of others.
    pub fn is_at_rest(&self, live: &Session) -> bool {
        live.stop.is_none()
            && !live.stuck
            && live.activity == Activity::Idle
            && live.running.is_none()
            && live.queue.is_empty()
            && live.waits.is_empty()
            && live.handed.is_empty()
            && self.unread(&live.name).next().is_none()
            && self.open_permissions_of(live.id).is_empty()
            && self.pending_requests(&live.name) == 0
            && self.claimed_by(live.id).next().is_none()
    }

    /// Returns the tasks of a session that the state still has.
    pub fn tasks_of(&self, session: SessionId) -> impl Iterator<Item = &Task> {
        self.tasks.values().filter(move |task| task.session == session)
    }

    /// Returns a task, if the state still has it.
    pub fn task(&self, id: &TaskId) -> Option<&Task> {
        self.tasks.get(id)
    }

    /// Says whether the end of a task is asked for and nobody hears that: the bridge that holds its agent hangs.
    pub fn is_unheard(&self, task: &Task) -> bool {
        let owner = self.session(task.session).and_then(|agent| agent.owner);
        let hangs = |owner| self.session(owner).is_some_and(|bridge| bridge.hung);
        task.cancel_asked && !task.status.is_final() && owner.is_some_and(hangs)
    }

    /// Returns the unread messages of a name, oldest first.
    pub fn unread<'a>(&'a self, name: &Name) -> impl Iterator<Item = &'a Message> + use<'a> {
        let ids = self.members.get(name).map(|member| &member.unread);
        ids.into_iter().flat_map(Chunked::values).filter_map(|id| self.messages.get(id))
    }

    /// Returns every message that the state has a header of, ended ones too.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.messages.values()
    }

    /// Returns what a call holds that has not been seen, oldest first.
    pub fn handed_to(&self, session: SessionId, call: CallId) -> Vec<&Message> {
        let ids = self.sessions.get(&session).and_then(|session| session.handed.get(&call));
        ids.into_iter().flatten().filter_map(|id| self.messages.get(id)).collect()
    }

    /// Says whether a call had what it holds by this time. Of what was handed over by an older version, that is not known, and
    /// believed.
    pub fn held_by(&self, session: SessionId, call: CallId, time_ms: u64) -> bool {
        let session = self.sessions.get(&session);
        let since = session.and_then(|session| session.held_since.get(&call));
        since.is_none_or(|since| *since <= time_ms)
    }

    /// Says whether a call holds messages in an answer that was written to its client.
    pub fn is_written(&self, session: SessionId, call: CallId) -> bool {
        let session = self.sessions.get(&session);
        session.is_some_and(|session| session.written.contains(&call))
    }

    /// Returns the calls of a session that hold messages which came by this way.
    pub fn calls_handed_by(&self, session: SessionId, way: DeliveryMethod) -> Vec<CallId> {
        let Some(session) = self.sessions.get(&session) else {
            return Vec::new();
        };
        let came_so = |ids: &Vec<MessageId>| {
            let first = ids.first().and_then(|id| self.messages.get(id));
            let delivery = first.and_then(|message| message.delivery(&session.name));
            matches!(delivery, Some(Delivery::Handed { way: by, .. }) if by == way)
        };
        let calls = session.handed.iter();
        calls.filter(|(_, ids)| came_so(ids)).map(|(call, _)| *call).collect()
    }

    /// Returns the live session that joined by itself and serves one of these processes: the first of them that has one, and of
    /// several the orchestrator, then the longest here.
    pub fn serving(&self, clients: &[ProcessMark]) -> Option<&Session> {
        let of = |client: &ProcessMark| {
            let those = self.sessions.values().filter(|session| session.client == Some(*client));
            those.min_by_key(|session| {
                let leads = session.kind == MemberKind::Orchestrator;
                (!leads, session.since_seq)
            })
        };
        clients.iter().find_map(of)
    }

    /// Says whether a call waits.
    pub fn waits(&self, session: SessionId, call: CallId) -> bool {
        self.sessions
            .get(&session)
            .is_some_and(|session| session.waits.iter().any(|wait| wait.call == call))
    }

    /// Says whether there is an unread message that a call waits for.
    pub fn misses(&self, session: SessionId, call: CallId) -> bool {
        let Some(session) = self.sessions.get(&session) else {
            return false;
        };
        let wait = session.waits.iter().find(|wait| wait.call == call);
        wait.is_some_and(|wait| self.unread(&session.name).any(|message| wait.fits(message)))
    }

    /// Says whether a command is in the log already, among the last ones.
    pub fn knows_command(&self, id: CommandId) -> bool {
        self.command_set.contains(&id)
    }

    /// Returns when something is due next, in milliseconds of the boot that deadlines count in.
    pub fn earliest_due_ms(&self, now: Now) -> Option<u64> {
        let newcomers_wait = self.newcomers().next().map(|_| 0);
        let others = self.timers.earliest_ms().into_iter();
        newcomers_wait.or_else(|| others.chain(self.earliest_name_ms(now)).min())
    }

    /// Returns the session that keeps the view of members up to date: the orchestrator longest here, else the peer.
    pub fn view_keeper(&self) -> Option<SessionId> {
        self.keeper_of(|_| true)
    }

    /// Returns the session that looks after all others: who keeps the view, unless its heartbeat stands still.
    pub fn lookout(&self) -> Option<SessionId> {
        self.keeper_of(|session| !session.hung)
    }

    fn keeper_of(&self, can: impl Fn(&Session) -> bool) -> Option<SessionId> {
        let kept_by = |kind: MemberKind| {
            let those = self.sessions.values();
            let those = those.filter(|session| session.kind == kind && can(session));
            those.min_by_key(|session| session.since_seq).map(|session| session.id)
        };
        kept_by(MemberKind::Orchestrator).or_else(|| kept_by(MemberKind::Peer))
    }
}

impl Session {
    /// Says whether one of these processes is the agent's own, or the one that guards it.
    pub fn runs_as_any_of(&self, processes: &[ProcessMark]) -> bool {
        self.run.as_ref().is_some_and(|run| {
            let own = std::iter::once(&run.agent).chain(&run.shim);
            // Without the time of its start a process could be another one by now.
            own.filter(|own| own.started.is_some()).any(|own| processes.contains(own))
        })
    }

    /// Returns the word for how it is doing: `waiting` while one of its calls waits, `stalled` in a turn without a sign of life, `stuck` in one that was given up,
    /// `hung` when nothing is heard of its process.
    pub fn status(&self) -> &'static str {
        match self.activity {
            _ if self.hung => "hung",
            Activity::Starting | Activity::Running | Activity::Idle if self.stuck => "stuck",
            // A question for permission that waits for its answer belongs here, above a turn that merely runs.
            Activity::Starting | Activity::Running | Activity::Idle if !self.waits.is_empty() => {
                "waiting"
            }
            Activity::Running if self.stalled => "stalled",
            activity => activity.as_str(),
        }
    }
}

impl Request {
    /// Says whether anybody can claim the request once a session is gone.
    pub fn is_offered_after(&self, gone: SessionId) -> bool {
        match self.status {
            RequestStatus::Open => true,
            RequestStatus::Claimed => {
                self.owner.as_ref().is_some_and(|owner| owner.session == gone)
            }
            RequestStatus::Completed | RequestStatus::Expired => false,
        }
    }
}

impl Wait {
    /// Says whether a message is what the call waits for. A shutdown ends every wait.
    pub fn fits(&self, message: &Message) -> bool {
        message.kind == MessageKind::Shutdown
            || (self.from.as_ref().is_none_or(|from| message.from.member() == Some(from))
                && self
                    .request
                    .as_ref()
                    .is_none_or(|request| message.request.as_ref() == Some(request)))
    }
}

impl Message {
    /// Says whether a member may see the message: its author and its addressees only.
    pub fn is_visible_to(&self, name: &Name) -> bool {
        self.from.member() == Some(name) || self.deliveries.get(name).is_some()
    }

    /// Returns how far the message has come with a member.
    pub fn delivery(&self, name: &Name) -> Option<Delivery> {
        self.deliveries.get(name).copied()
    }
}

impl EndedSession {
    /// Returns why it left, as a word and what there is to say about it.
    pub fn told(&self) -> String {
        match &self.detail {
            Some(detail) => format!("{}: {detail}", self.departure.as_str()),
            None => self.departure.as_str().to_owned(),
        }
    }
}
