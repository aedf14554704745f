//! Queries about members: which are live, which session serves a process, which have nothing to do.

use std::collections::BTreeSet;

use crate::bus::state::{EndedSession, Member, ResumeInfo, Session, State};
use crate::domain::ids::SessionId;
use crate::domain::member::{
    Activity, Departure, Host, HostId, MemberKind, ProcessMark, SessionNumber,
};
use crate::domain::name::Name;

impl State {
    pub fn session(&self, id: SessionId) -> Option<&Session> {
        self.sessions.get(&id)
    }

    pub fn member(&self, name: &Name) -> Option<&Member> {
        self.members.get(name)
    }

    /// Says whether a known name was generated.
    pub fn is_generated_name(&self, name: &Name) -> bool {
        self.member(name).is_some_and(|member| !member.chosen)
    }

    /// Returns the live session of that name.
    pub fn live(&self, name: &Name) -> Option<&Session> {
        self.members.get(name)?.session.and_then(|id| self.sessions.get(&id))
    }

    /// Returns the live session with that number.
    pub fn numbered(&self, number: SessionNumber) -> Option<&Session> {
        self.sessions.values().find(|session| session.number == Some(number))
    }

    /// Returns the live session that a text names: by its member's name, or else by its number, such as `s7`.
    pub fn live_as(&self, text: &str) -> Option<&Session> {
        let named = Name::stored(text).ok().and_then(|name| self.live(&name));
        named.or_else(|| self.numbered(SessionNumber::parse(text)?))
    }

    /// Returns the number of the session that began last, if any has one.
    pub fn last_number(&self) -> Option<SessionNumber> {
        self.last_number
    }

    /// Returns all live sessions, oldest first.
    pub fn live_sessions(&self) -> Vec<&Session> {
        let mut all: Vec<_> = self.sessions.values().collect();
        all.sort_by_key(|session| session.since_seq);
        all
    }

    /// Returns the ids of all live sessions.
    pub fn session_ids(&self) -> impl Iterator<Item = SessionId> {
        self.sessions.keys().copied()
    }

    /// Returns where a session is, or was, on a bus that several machines share.
    pub fn host_of(&self, session: SessionId) -> Option<&Host> {
        self.hosts.get(&session)
    }

    /// Returns the number of live agents.
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

    /// Returns the name of the member whose session this is or was, if it is still known.
    pub fn name_of(&self, session: SessionId) -> Option<&Name> {
        let left = || self.departed.iter().rev().find(|left| left.session == session);
        let live = self.session(session).map(|live| &live.name);
        live.or_else(|| left().map(|left| &left.name))
    }

    /// Returns when a session whose process has died gave its last sign of life, in wall time.
    pub(in crate::bus::state) fn died_ms(&self, session: SessionId) -> Option<i64> {
        let mut left = self.departed.iter().rev();
        let left = left.find(|left| left.session == session)?;
        (left.departure == Departure::Dead).then_some(left.last_ms)
    }

    /// Returns how to resume the last agent of a name, if that is still known. One that has played in a trial is passed over: it was
    /// not the agent that its name says.
    pub fn past_agent(&self, name: &Name) -> Option<(&EndedSession, &ResumeInfo)> {
        let of_name = self.departed.iter().rev().filter(|left| left.name == *name);
        let mut of_name = of_name.filter(|left| !self.has_played_a_trial(left.session));
        of_name.find_map(|left| Some((left, left.past.as_ref()?)))
    }

    /// Says whether a member has nothing to do and nothing pending: no task, no mail, no waiting call, no question, no request of
    /// its own and no claim.
    pub fn is_at_rest(&self, live: &Session) -> bool {
        live.stop.is_none()
            && !live.stuck
            && live.activity == Activity::Idle
            && live.running.is_none()
            && live.queue.is_empty()
            && live.waits.is_empty()
            && live.in_flight.is_empty()
            // A message to a group begins no turn, so it may stay unread for as long as the agent has nothing to do.
            && self.unread(&live.name).all(|message| message.quiet)
            && self.open_permissions_of(live.id).is_empty()
            && self.pending_requests(&live.name) == 0
            && self.claimed_by(live.id).next().is_none()
    }

    /// Returns the live session that joined by itself and serves one of these processes. The first process with a session counts;
    /// if it has several, the orchestrator, else the oldest one.
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

    /// Returns the session that keeps the view of members up to date: the oldest orchestrator, else the oldest peer.
    pub(in crate::bus) fn view_keeper(&self, here: Option<HostId>) -> Option<SessionId> {
        self.keeper_of(here, |_| true)
    }

    /// Returns the view keepers of all hosts.
    pub(in crate::bus) fn view_keepers(&self) -> impl Iterator<Item = SessionId> {
        let hosts: BTreeSet<_> = self.hosts.values().map(|host| Some(host.id)).collect();
        let hosts = if hosts.is_empty() { BTreeSet::from([None]) } else { hosts };
        hosts.into_iter().filter_map(|here| self.view_keeper(here))
    }

    /// Returns the session that watches all others: the view keeper, unless its heartbeat stands still.
    pub(in crate::bus) fn lookout(&self, here: Option<HostId>) -> Option<SessionId> {
        self.keeper_of(here, |session| !session.hung)
    }

    /// Finds it among the sessions of one host, or of all if there are none.
    fn keeper_of(&self, here: Option<HostId>, can: impl Fn(&Session) -> bool) -> Option<SessionId> {
        let is_here = |session: &Session| {
            let its = self.host_of(session.id);
            here.is_none() || its.is_none_or(|its| Some(its.id) == here)
        };
        let kept_by = |kind: MemberKind| {
            let those = self.sessions.values();
            let those =
                those.filter(|session| session.kind == kind && can(session) && is_here(session));
            those.min_by_key(|session| session.since_seq).map(|session| session.id)
        };
        kept_by(MemberKind::Orchestrator).or_else(|| kept_by(MemberKind::Peer))
    }
}
