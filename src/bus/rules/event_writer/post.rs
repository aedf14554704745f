//! How the rules post messages and notices.

use super::Writer;
use crate::bus::event::{Body, Envelope, Event, MessageSent};
use crate::bus::rules::notice::Notice;
use crate::bus::state::{Message, Origin};
use crate::domain::ids::{MessageId, RequestId, TaskId};
use crate::domain::limits;
use crate::domain::messaging::{Audience, Author, MessageKind, Priority, Signal, SignalClass};
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

    /// Returns a message of the person at the command line that begins a thread.
    pub(in crate::bus::rules) fn of_human(to: Name, body: Body) -> Self {
        Self::from(MessageKind::Message, Author::Human, to, body)
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

    /// Sends one notice about the ends of several tasks, instead of one about each.
    pub(in crate::bus::rules) fn notice_of_ends(
        &mut self,
        to: &Name,
        ends: Vec<TaskId>,
        notice: Notice,
    ) {
        let mut post = Post::notice(to.clone(), notice);
        post.ends = ends;
        self.post_if_accepted(post);
    }

    /// Sends the same notice to several members: to very many as one message.
    pub(in crate::bus::rules) fn notice_to_each(&mut self, names: &[Name], notice: &Notice) {
        if names.len() <= limits::NOTICES_AT_ONCE {
            for name in names {
                self.notice(name, notice.clone());
            }
            return;
        }
        let accepts = |name: &&Name| self.accepts_notice(name);
        let to: Vec<_> = names.iter().filter(accepts).cloned().collect();
        let Some(first) = to.first() else { return };
        let mut post = Post::notice(first.clone(), notice.clone());
        post.audience = Audience::All;
        post.to = to;
        self.post(post);
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
