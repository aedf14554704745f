//! News of who has come and left, for those that joined by themselves and for the followers of `#presence`.
//!
//! Such a notice is read with other things: it wakes nobody, ends no wait and interrupts nothing. The newest of a name takes the place of
//! those before it that are unread, an inbox holds few, and in a team of very many nobody gets any.

use serde_json::json;

use crate::bus::event::Envelope;
use crate::bus::rules::event_writer::{Post, Writer};
use crate::bus::rules::notice::{Notice, notice};
use crate::bus::state::{Message, Session};
use crate::domain::ids::{MessageId, SessionId};
use crate::domain::limits;
use crate::domain::member::{Departure, Label, MemberKind, SessionNumber};
use crate::domain::messaging::{Audience, Group, Priority, Signal};
use crate::domain::name::Name;
use crate::domain::wait_times;

/// The topic whose followers hear of agents too.
const TOPIC: &str = "presence";

/// A session that has come or left.
#[derive(Clone, Debug)]
pub(in crate::bus::rules) struct Subject {
    session: SessionId,
    number: Option<SessionNumber>,
    name: Name,
    kind: MemberKind,
    surface: Option<String>,
}

impl Subject {
    pub(in crate::bus::rules) fn of(session: &Session) -> Self {
        let surface = session.traits.surface.as_ref();
        Self::new(session.id, (&session.name, session.kind), session.number, surface)
    }

    /// Makes one that is not in the state yet.
    pub(in crate::bus::rules) fn new(
        session: SessionId,
        (name, kind): (&Name, MemberKind),
        number: Option<SessionNumber>,
        surface: Option<&Label>,
    ) -> Self {
        let surface = surface.map(ToString::to_string);
        Self { session, number, name: name.clone(), kind, surface }
    }

    /// Returns its name, what it is, and its number: "ann (peer, s7)".
    fn in_words(&self) -> Notice {
        let text = notice![self.name, " (", self.kind.as_str()];
        let text = match self.number {
            Some(number) => text.and(&", ").and(&number),
            None => text,
        };
        text.and(&")")
    }
}

/// Tells that a session has joined.
pub(in crate::bus::rules) fn tell_joined(writer: &mut Writer<'_>, subject: &Subject) {
    let payload = json!({
        "identity": subject.name,
        "surface": subject.surface,
        "session_id": subject.number.map(|number| number.to_string()),
    });
    let text = subject.in_words().and(&" has joined");
    tell(writer, subject, (Signal::PEER_JOINED, payload), text);
}

/// Tells that a session has left.
pub(in crate::bus::rules) fn tell_left(
    writer: &mut Writer<'_>,
    subject: &Subject,
    departure: Departure,
) {
    let payload = json!({
        "identity": subject.name,
        "surface": subject.surface,
        "reason": departure.as_str(),
    });
    let how = match departure {
        Departure::Closed => " has left",
        Departure::Stopped => " was stopped",
        Departure::Failed => " has failed",
        Departure::Dead => " ended: its process is gone",
    };
    let text = subject.in_words().and(&how);
    tell(writer, subject, (Signal::PEER_LEFT, payload), text);
}

fn tell(
    writer: &mut Writer<'_>,
    subject: &Subject,
    (signal, payload): (Signal, serde_json::Value),
    text: Notice,
) {
    let Ok(topic) = Label::parse(TOPIC) else { return };
    let mut to = readers(writer, subject, &topic);
    // Mostly nobody hears of agents, which saves a look at all messages.
    if to.is_empty() && subject.kind == MemberKind::Agent {
        return;
    }
    for id in untrue(writer, &subject.name) {
        writer.supersede(&id);
    }
    // In so large a team, each would hear of little else.
    if to.len() > limits::TOLD_OF_PEERS {
        return;
    }
    to.retain(|name| has_room(writer, name, &subject.name));
    let Some(first) = to.first() else { return };
    let mut post = Post::notice(first.clone(), text);
    post.audience = Audience::Group(Group::Topic(topic));
    post.to = to;
    post.priority = Priority::Low;
    post.quiet = true;
    post.more = Some(Box::new(Envelope {
        signal: Some(signal),
        payload: payload.as_object().cloned(),
        reference: Some(subject.name.to_string()),
        ttl_seconds: Some(wait_times::PRESENCE_SECONDS),
        ..Envelope::default()
    }));
    writer.post(post);
}

/// Returns who hears of a session. One that does not respond, and one that runs a plan, would not read it.
fn readers(writer: &Writer<'_>, subject: &Subject, topic: &Label) -> Vec<Name> {
    let by_itself = |kind: MemberKind| kind != MemberKind::Agent;
    let live = writer.state.readers().into_iter();
    let readers = live.filter(|session| {
        session.id != subject.session
            && !writer.is_leaving(session.id)
            && !session.hung
            && !session.runs_plan()
            && (session.follows(topic) || (by_itself(session.kind) && by_itself(subject.kind)))
    });
    readers.map(|session| session.name.clone()).collect()
}

/// Returns the news about a name, which are no longer true.
fn untrue(writer: &Writer<'_>, name: &Name) -> Vec<MessageId> {
    let news = writer.state.messages().filter(|message| message.is_presence());
    news.filter(|message| is_about(message, name)).map(|message| message.id.clone()).collect()
}

/// Says whether an inbox has room for news about somebody, of whom it has no other then. They take none of the last places.
fn has_room(writer: &Writer<'_>, reader: &Name, subject: &Name) -> bool {
    let state = writer.state;
    let all = state.member(reader).map_or(0, |member| member.unread.len());
    if !writer.has_room(reader, 1) || all + limits::UNREAD_PRESENCE > state.limits().unread {
        return false;
    }
    let news = state.unread(reader).filter(|message| message.is_presence());
    let others = news.filter(|message| !is_about(message, subject));
    others.count() < limits::UNREAD_PRESENCE
}

fn is_about(message: &Message, name: &Name) -> bool {
    let about = message.more.as_ref().and_then(|more| more.reference.as_ref());
    about.is_some_and(|about| about.eq_ignore_ascii_case(name.as_str()))
}
