//! How the rules post messages and notices.

use super::Writer;
use crate::bus::event::{Body, Envelope, Event, MessageSent};
use crate::bus::rules::notice::Notice;
use crate::bus::state::{Message, Origin};
use crate::domain::ids::{MessageId, RequestId, TaskId};
use crate::domain::messaging::{
    Audience, Author, Group, MemberElsewhere, MessageKind, Priority, Signal, SignalClass,
};
use crate::domain::name::Name;

/// A message to post.
pub(in crate::bus::rules) struct Post {
    pub(in crate::bus::rules) kind: MessageKind,
    pub(in crate::bus::rules) from: Author,
    pub(in crate::bus::rules) audience: Audience,
    pub(in crate::bus::rules) to: Vec<Name>,
    pub(in crate::bus::rules) request: Option<RequestId>,
    pub(in crate::bus::rules) task: Option<TaskId>,
    pub(in crate::bus::rules) claimed_by: Option<Name>,
    pub(in crate::bus::rules) reply_to: Option<MessageId>,
    pub(in crate::bus::rules) thread: Option<MessageId>,
    pub(in crate::bus::rules) ends: Vec<TaskId>,
    pub(in crate::bus::rules) priority: Priority,
    /// Whether it is worth no turn of an idle agent.
    pub(in crate::bus::rules) quiet: bool,
    pub(in crate::bus::rules) more: Option<Box<Envelope>>,
    pub(in crate::bus::rules) body: Body,
}

/// Who is told something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::bus::rules) enum Told {
    /// A member whose own it is.
    Member(Name),
    /// Whoever leads, as it concerns the whole team: if this one leaves before it has read it, the next lead gets it.
    Lead(Name),
}

impl Told {
    pub(in crate::bus::rules) fn name(&self) -> &Name {
        match self {
            Self::Member(name) | Self::Lead(name) => name,
        }
    }
}

impl Post {
    /// Returns a message of a member that begins a thread.
    pub(in crate::bus::rules) fn new(kind: MessageKind, from: Name, to: Name, body: Body) -> Self {
        Self::from(kind, Author::Member(from), to, body)
    }

    /// Returns a message of the bridge itself. Its text must be a `Notice`, so no text of others can pass for the bridge's.
    pub(in crate::bus::rules) fn notice(to: Name, notice: Notice) -> Self {
        let body = Body::Text(notice.into_text());
        Self::from(MessageKind::Notice, Author::Bridge, to, body)
    }

    /// Returns a notice for a member, or for whoever leads.
    pub(in crate::bus::rules) fn notice_for(told: &Told, notice: Notice) -> Self {
        let mut post = Self::notice(told.name().clone(), notice);
        if let Told::Lead(_) = told {
            post.audience = Audience::Group(Group::lead());
        }
        post
    }

    /// Returns a message of the person at the command line that begins a thread.
    pub(in crate::bus::rules) fn of_human(to: Name, body: Body) -> Self {
        Self::from(MessageKind::Message, Author::Human, to, body)
    }

    /// Returns a message of a member of another project that begins a thread.
    pub(in crate::bus::rules) fn of_elsewhere(from: MemberElsewhere, to: Name, body: Body) -> Self {
        Self::from(MessageKind::Message, Author::Elsewhere(Box::new(from)), to, body)
    }

    /// Returns the class of its signal.
    pub(in crate::bus::rules) fn class(&self) -> SignalClass {
        let signal = self.more.as_ref().and_then(|more| more.signal.as_ref());
        signal.map_or(SignalClass::Say, Signal::class)
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
            quiet: false,
            more: None,
            body,
        }
    }
}

impl Writer<'_> {
    /// Posts a message, and delivers it to one waiting call of each addressee.
    pub(in crate::bus::rules) fn post(&mut self, post: Post) -> MessageId {
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
            quiet: post.quiet,
            more: post.more,
            body: post.body,
        };
        let message = Message::sent(&sent, Origin::default());
        self.push(Event::MessageSent(sent));
        self.deliver_to_waits(&message, &to);
        id
    }

    /// Sends a notice to a member, if its inbox accepts it.
    pub(in crate::bus::rules) fn notice(&mut self, to: &Name, notice: Notice) {
        self.post_if_accepted(Post::notice(to.clone(), notice));
    }

    /// Sends a notice that says apart from its text what it is about, if the inbox accepts it.
    pub(in crate::bus::rules) fn notice_of(&mut self, to: &Name, about: String, notice: Notice) {
        let more = Envelope { reference: Some(about), ..Envelope::default() };
        let more = Some(Box::new(more));
        self.post_if_accepted(Post { more, ..Post::notice(to.clone(), notice) });
    }

    /// Sends a notice to a member, or to whoever leads, if its inbox accepts it.
    pub(in crate::bus::rules) fn tell(&mut self, told: &Told, notice: Notice) {
        self.post_if_accepted(Post::notice_for(told, notice));
    }

    /// Sends a notice to the orchestrator that leads, if one does and its inbox accepts it.
    pub(in crate::bus::rules) fn tell_lead(&mut self, notice: Notice) {
        if let Some(lead) = self.lead().map(|lead| lead.name.clone()) {
            self.tell(&Told::Lead(lead), notice);
        }
    }

    /// Sends one notice about the ends of several tasks, instead of one about each.
    pub(in crate::bus::rules) fn notice_of_ends(
        &mut self,
        told: &Told,
        ends: Vec<TaskId>,
        notice: Notice,
    ) {
        let mut post = Post::notice_for(told, notice);
        post.ends = ends;
        self.post_if_accepted(post);
    }

    /// Sends a notice about a request, which ends waits for that request.
    pub(in crate::bus::rules) fn notice_about(
        &mut self,
        request: &RequestId,
        to: &Name,
        notice: Notice,
    ) {
        let mut post = Post::notice(to.clone(), notice);
        post.request = Some(request.clone());
        self.post_if_accepted(post);
    }

    fn post_if_accepted(&mut self, post: Post) {
        if post.to.iter().all(|name| self.accepts_notice(name)) {
            self.post(post);
        }
    }
}
