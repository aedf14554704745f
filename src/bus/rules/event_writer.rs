//! What the rules write with: the events so far, ids, and the posting of messages.

use std::collections::BTreeSet;

use super::command::Command;
use super::notice::Notice;
use crate::bus::event::{Addressees, Body, Event, MessageSent};
use crate::bus::state::{Member, Message, Origin, Session, State};
use crate::bus::storage::file::line_format;
use crate::domain::ids::{CallId, MessageId, RequestId, SessionId, TaskId};
use crate::domain::limits;
use crate::domain::messaging::{Audience, Author, DeliveryMethod, MessageKind, Priority};
use crate::domain::name::Name;
use crate::domain::time::Now;

/// The events of one step of a decision.
pub(super) struct Writer<'a> {
    /// The state to decide in.
    pub(super) state: &'a State,
    /// The command's time.
    pub(super) now: Now,
    /// The events so far.
    pub(super) events: Vec<Event>,
    /// How many ids were drawn from the command.
    pub(super) ids_used: u32,
    /// How many waits this append answers so far.
    pub(super) handed: usize,
    /// How many bytes of events the append should still take; the first `counted` are off already.
    room: usize,
    counted: usize,
    command: &'a Command,
    /// Waits that this decision has answered already.
    answered: BTreeSet<(SessionId, CallId)>,
    /// The session whose leaving is being written: it gets nothing more.
    leaving: Option<SessionId>,
    /// The session whose process or turn has ended: its calls wait for nothing any more.
    deaf: Option<SessionId>,
}

/// A message to be posted.
pub(super) struct Post {
    pub(super) kind: MessageKind,
    pub(super) from: Author,
    pub(super) audience: Audience,
    pub(super) to: Vec<Name>,
    pub(super) request: Option<RequestId>,
    pub(super) task: Option<TaskId>,
    pub(super) claimed_by: Option<Name>,
    pub(super) reply_to: Option<MessageId>,
    pub(super) thread: Option<MessageId>,
    pub(super) ends: Vec<TaskId>,
    pub(super) priority: Priority,
    pub(super) body: Body,
}

impl Post {
    /// A message of a member that begins a thread and is about nothing else.
    pub(super) fn new(kind: MessageKind, from: Name, to: Name, body: Body) -> Self {
        Self::from(kind, Author::Member(from), to, body)
    }

    /// A message of the bridge itself: there are no others, so that none says what somebody else has written.
    pub(super) fn notice(to: Name, notice: Notice) -> Self {
        let body = Body::Text(notice.into_text());
        Self::from(MessageKind::Notice, Author::Bridge, to, body)
    }

    fn from(kind: MessageKind, from: Author, to: Name, body: Body) -> Self {
        Self {
            kind,
            from,
            audience: Audience::One(to.clone()),
            to: vec![to],
            request: None,
            task: None,
            claimed_by: None,
            reply_to: None,
            thread: None,
            ends: Vec::new(),
            priority: Priority::Normal,
            body,
        }
    }
}

impl<'a> Writer<'a> {
    pub(super) fn new(state: &'a State, now: Now, command: &'a Command, room: usize) -> Self {
        Self {
            state,
            now,
            events: Vec::new(),
            ids_used: 0,
            handed: 0,
            room,
            counted: 0,
            command,
            answered: BTreeSet::new(),
            leaving: None,
            deaf: None,
        }
    }

    /// Hands nothing to the waits of a session any more.
    pub(super) fn deafen(&mut self, session: SessionId) {
        self.deaf = Some(session);
    }

    pub(super) fn push(&mut self, event: Event) {
        match &event {
            Event::MemberLeft { session, .. } => self.leaving = Some(*session),
            Event::AgentCrashed { session, .. } => self.deaf = Some(*session),
            _ => {}
        }
        self.events.push(event);
    }

    /// Says whether the rest is better left to the next append.
    pub(super) fn is_full(&mut self) -> bool {
        let new = self.events[self.counted..].iter().map(line_format::bytes_of);
        self.room = self.room.saturating_sub(new.sum());
        self.counted = self.events.len();
        self.room == 0 || self.events.len() >= limits::EVENTS_AT_ONCE
    }

    /// Draws an id that nothing in the state has.
    pub(super) fn new_id<I>(
        &mut self,
        make: impl Fn(u64) -> I,
        taken: impl Fn(&State, &I) -> bool,
    ) -> I {
        loop {
            let id = make(self.command.id.bits(self.ids_used));
            self.ids_used += 1;
            if !taken(self.state, &id) {
                return id;
            }
        }
    }

    pub(super) fn message_id(&mut self) -> MessageId {
        self.new_id(MessageId::from_bits, |state, id| state.messages.contains_key(id))
    }

    /// Posts a message, and hands it to a call of each addressee that waits for it.
    pub(super) fn post(&mut self, post: Post) -> MessageId {
        let id = self.message_id();
        let to = post.to.clone();
        let sent = MessageSent {
            id: id.clone(),
            kind: post.kind,
            from: post.from,
            audience: post.audience,
            to: self.addressees(post.to),
            request: post.request,
            task: post.task,
            claimed_by: post.claimed_by,
            reply_to: post.reply_to,
            thread: post.thread,
            ends: post.ends,
            priority: post.priority,
            body: post.body,
        };
        let message = Message::sent(&sent, Origin::default());
        self.push(Event::MessageSent(sent));
        self.hand_to_waits(&message, &to);
        id
    }

    /// Says in an event whose inboxes are meant: very many are named as all live members but some.
    pub(super) fn addressees(&self, names: Vec<Name>) -> Addressees {
        if names.len() <= limits::NAMED_AT_ONCE {
            return Addressees::Named(names);
        }
        let wanted: BTreeSet<&Name> = names.iter().collect();
        let live = self.state.live_sessions().into_iter();
        let live = live.filter(|session| self.leaving != Some(session.id));
        let (meant, others): (Vec<_>, Vec<_>) =
            live.map(|session| &session.name).partition(|name| wanted.contains(name));
        if meant.len() < wanted.len() || others.len() > meant.len() {
            return Addressees::Named(names);
        }
        Addressees::AllBut(others.into_iter().cloned().collect())
    }

    /// Hands a message that is just being posted to the oldest fitting wait of each addressee; a shutdown ends the others too. Of
    /// very many who wait, those who were not answered find it themselves.
    pub(super) fn hand_to_waits(&mut self, message: &Message, to: &[Name]) {
        for name in to {
            if self.handed >= limits::HANDED_AT_ONCE {
                return;
            }
            let Some(session) = self.state.live(name) else {
                continue;
            };
            if [self.leaving, self.deaf].contains(&Some(session.id)) {
                continue;
            }
            let fitting = |call: CallId| !self.answered.contains(&(session.id, call));
            let mut calls = session
                .waits
                .iter()
                .filter(|wait| fitting(wait.call) && wait.fits(message))
                .map(|wait| wait.call);
            let Some(call) = calls.next() else { continue };
            let rest: Vec<_> =
                if message.kind == MessageKind::Shutdown { calls.collect() } else { Vec::new() };
            self.answered.insert((session.id, call));
            self.handed += 1;
            self.push(Event::MessageHanded {
                ids: vec![message.id.clone()],
                member: name.clone(),
                session: session.id,
                call,
                way: DeliveryMethod::Pull,
            });
            for call in rest {
                self.answered.insert((session.id, call));
                self.push(Event::WaitEnded { session: session.id, call });
            }
        }
    }

    /// Tells a member something from the bus itself, if anybody of that name can ever read it.
    pub(super) fn notice(&mut self, to: &Name, notice: Notice) {
        self.tell(Post::notice(to.clone(), notice));
    }

    /// Tells a member of the ends of tasks, in the place of the notice about each.
    pub(super) fn notice_of_ends(&mut self, to: &Name, ends: Vec<TaskId>, notice: Notice) {
        let mut post = Post::notice(to.clone(), notice);
        post.ends = ends;
        self.tell(post);
    }

    /// Tells several members the same: very many of them by one message.
    pub(super) fn notice_to_each(&mut self, names: &[Name], notice: &Notice) {
        if names.len() <= limits::NOTICES_AT_ONCE {
            for name in names {
                self.notice(name, notice.clone());
            }
            return;
        }
        let gets = |name: &&Name| self.hears(name);
        let to: Vec<_> = names.iter().filter(gets).cloned().collect();
        let Some(first) = to.first() else { return };
        let mut post = Post::notice(first.clone(), notice.clone());
        post.audience = Audience::All;
        post.to = to;
        self.post(post);
    }

    /// Tells a member something about a request, so that who waits for news of it is answered.
    pub(super) fn notice_about(&mut self, request: &RequestId, to: &Name, notice: Notice) {
        let mut post = Post::notice(to.clone(), notice);
        post.request = Some(request.clone());
        self.tell(post);
    }

    fn tell(&mut self, post: Post) {
        if post.to.iter().all(|name| self.hears(name)) {
            self.post(post);
        }
    }

    /// Says whether a notice to a member gets into its inbox.
    pub(super) fn hears(&self, name: &Name) -> bool {
        self.reaches(name) && self.has_room(name, limits::NOTICE_ROOM)
    }

    /// Says whether an inbox has fewer unread messages, and fewer bytes of them, than so many times the limits.
    pub(super) fn has_room(&self, name: &Name, times: usize) -> bool {
        let most = self.state.limits().unread.saturating_mul(times);
        let most_bytes = limits::MAX_UNREAD_BYTES.saturating_mul(times as u64);
        let fits = |member: &Member| member.unread.len() < most && member.unread_bytes < most_bytes;
        self.state.member(name).is_none_or(fits)
    }

    /// Says whether a session is leaving by this very decision.
    pub(super) fn is_leaving(&self, session: SessionId) -> bool {
        self.leaving == Some(session)
    }

    /// Says whether anybody of that name can ever read a message: the name is known, and does not end right now.
    pub(super) fn reaches(&self, name: &Name) -> bool {
        let lasts = |member: &Member| {
            member.chosen || self.leaving.is_none() || member.session != self.leaving
        };
        self.state.member(name).is_some_and(lasts)
    }

    /// Returns the names of all live members but one, and but who is just leaving.
    pub(super) fn everyone_but(&self, name: &Name) -> Vec<Name> {
        let sessions = self.state.live_sessions().into_iter();
        sessions
            .filter(|session| self.leaving != Some(session.id))
            .map(|session| session.name.clone())
            .filter(|other| other != name)
            .collect()
    }

    /// Keeps of all live members those whose inbox has room, and who can hear. Where very many have not, they are told all the
    /// same: an inbox above its limit does less harm than a line that is too long to be written.
    pub(super) fn who_have_room(&self, everyone: Vec<Name>) -> Vec<Name> {
        let mut left_out = 0;
        let gets = |name: &Name| {
            let gets = self.has_room(name, 1);
            left_out += usize::from(!gets);
            gets || left_out > limits::LEFT_OUT_AT_ONCE
        };
        let mut to = everyone;
        to.retain(gets);
        to
    }

    /// Returns a live session.
    pub(super) fn session(&self, id: SessionId) -> Result<&'a Session, super::Refusal> {
        self.state.session(id).ok_or(super::Refusal::Left)
    }

    /// Says whether a session may act for another: itself, or an agent that it holds.
    pub(super) fn acts_for(
        &self,
        me: SessionId,
        session: SessionId,
    ) -> Result<&'a Session, super::Refusal> {
        let held = self.session(session)?;
        if me == session || held.owner == Some(me) {
            Ok(held)
        } else {
            Err(super::Refusal::NotTheOwner)
        }
    }
}
