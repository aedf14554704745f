//! News of who has come and left, for those that joined by themselves and for the followers of `#presence`.
//!
//! Such a notice is read with other things: it wakes nobody, ends no wait and interrupts nothing. The newest of a name takes the place of
//! those before it that are unread, and an inbox holds few.

use std::collections::BTreeMap;

use serde_json::json;

use crate::bus::event::Envelope;
use crate::bus::rules::event_writer::{Post, Writer};
use crate::bus::rules::notice::{Notice, notice};
use crate::bus::state::{Delivery, Message, Session};
use crate::domain::ids::{MessageId, SessionId};
use crate::domain::limits;
use crate::domain::member::{Departure, Label, MemberKind, SessionNumber};
use crate::domain::messaging::{Audience, Group, Priority, Signal};
use crate::domain::name::Name;

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
    let readers: Vec<Name> = readers(writer, subject, &topic);
    // Mostly nobody hears of agents, which saves a look at all messages.
    if readers.is_empty() && subject.kind == MemberKind::Agent {
        return;
    }
    let News { untrue, mut unread } = News::about(writer, &subject.name);
    for id in untrue {
        writer.supersede(&id);
    }
    let has_few = |name: &Name| {
        unread.remove(name).is_none_or(|unread| unread < limits::UNREAD_PRESENCE)
    };
    let mut to = readers;
    to.retain(has_few);
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
        ..Envelope::default()
    }));
    writer.post(post);
}

/// Returns who hears of a session. One that does not respond, and one that runs a plan, would not read it.
fn readers(writer: &Writer<'_>, subject: &Subject, topic: &Label) -> Vec<Name> {
    let by_itself = |kind: MemberKind| kind != MemberKind::Agent;
    let live = writer.state.live_sessions().into_iter();
    let readers = live.filter(|session| {
        session.id != subject.session
            && !writer.is_leaving(session.id)
            && !session.hung
            && !session.runs_plan()
            && (session.follows(topic) || (by_itself(session.kind) && by_itself(subject.kind)))
            && writer.has_room(&session.name, 1)
    });
    readers.map(|session| session.name.clone()).collect()
}

/// The unread news of who has come and left.
struct News {
    /// What is about this name, and so no longer true.
    untrue: Vec<MessageId>,
    /// How much about others is in each inbox.
    unread: BTreeMap<Name, usize>,
}

impl News {
    fn about(writer: &Writer<'_>, name: &Name) -> Self {
        let (mut untrue, mut unread) = (Vec::new(), BTreeMap::new());
        for message in writer.state.messages().filter(|message| message.is_presence()) {
            if is_about(message, name) {
                untrue.push(message.id.clone());
                continue;
            }
            for (reader, delivery) in message.deliveries.iter() {
                if matches!(delivery, Delivery::Unread { .. }) {
                    *unread.entry(reader.clone()).or_default() += 1;
                }
            }
        }
        Self { untrue, unread }
    }
}

fn is_about(message: &Message, name: &Name) -> bool {
    let about = message.more.as_ref().and_then(|more| more.reference.as_ref());
    about.is_some_and(|about| about.eq_ignore_ascii_case(name.as_str()))
}
