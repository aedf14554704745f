//! Mail of a member that has left: some waits for its next session, the rest ends with a notice to the sender.

use std::collections::BTreeMap;

use crate::bus::event::Event;
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::notice::notice;
use crate::bus::state::{Message, Session, State};
use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::messaging::MessageKind;
use crate::domain::name::Name;

/// Ends mail that is of no use to a later session of the same name: shutdowns, nudges, messages whose place others have taken, and requests
/// that another member has claimed. Mail for a generated name does not keep open requests either: its next session is shown them as any
/// newcomer is.
pub(in crate::bus::rules) fn drop_obsolete_mail(
    writer: &mut Writer<'_>,
    session: &Session,
    is_chosen: bool,
) {
    let state = writer.state;
    let is_obsolete = |message: &&&Message| match message.kind {
        MessageKind::Shutdown | MessageKind::Nudge => true,
        MessageKind::Request => message
            .request
            .as_ref()
            .and_then(|id| state.request(id))
            .is_none_or(|request| !is_chosen || !request.is_offered_after(session.id)),
        _ => message.replaced,
    };
    let mail = undelivered_to(state, &session.name);
    // Messages without room in this append do no harm: a later session sees them once.
    for message in mail.iter().filter(is_obsolete) {
        if writer.is_full() {
            break;
        }
        let (id, member) = (message.id.clone(), session.name.clone());
        writer.push(if message.replaced {
            Event::MessageSuperseded { id, members: vec![member].into() }
        } else {
            Event::MessageExpired { id, member }
        });
    }
}

/// Abandons the expired mail of an absent member, and forgets its name with the last message.
pub(in crate::bus::rules) fn end_mail(writer: &mut Writer<'_>, name: &Name) {
    let what = if writer.state.has_waited(name) { "did not come back" } else { "has left" };
    if abandon_mail(writer, name, what) == MailEnd::Ended {
        writer.push(Event::MemberForgotten { name: name.clone() });
    }
}

/// Whether all mail of a name is abandoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bus::rules) enum MailEnd {
    Ended,
    /// The append had no room for all; the timer of the name brings the rest.
    More,
}

/// Abandons the mail of a member that will not read it, and notifies the senders.
pub(in crate::bus::rules) fn abandon_mail(
    writer: &mut Writer<'_>,
    name: &Name,
    what: &'static str,
) -> MailEnd {
    let mut undelivered: BTreeMap<Name, Vec<MessageId>> = BTreeMap::new();
    let mut outcome = MailEnd::Ended;
    for (number, message) in undelivered_to(writer.state, name).into_iter().enumerate() {
        if number > 0 && (writer.is_full() || undelivered.len() >= limits::SENDERS_AT_ONCE) {
            outcome = MailEnd::More;
            break;
        }
        writer.push(Event::MessageExpired { id: message.id.clone(), member: name.clone() });
        // What waits again for the next who fits is not lost.
        let personal = matches!(message.kind, MessageKind::Message | MessageKind::Response)
            && !writer.state.is_promised(&message.id);
        if let Some(sender) =
            message.from.member().filter(|_| personal && message.claimed_by.is_none())
        {
            undelivered.entry(sender.clone()).or_default().push(message.id.clone());
        }
    }
    for (sender, ids) in undelivered {
        let mut text =
            notice![*name, " ", what, " without reading ", ids.len(), " of your messages: "];
        for (at, id) in ids.iter().take(limits::NOTICE_IDS).enumerate() {
            text = text.and(if at == 0 { &"" } else { &", " }).and(id);
        }
        if ids.len() > limits::NOTICE_IDS {
            text = text.and(&" …");
        }
        if sender != *name {
            writer.notice(&sender, text);
        }
    }
    outcome
}

/// Returns the messages that a member has not seen: unread ones, and those in flight to its session.
fn undelivered_to<'a>(state: &'a State, name: &Name) -> Vec<&'a Message> {
    let in_flight =
        state.live(name).into_iter().flat_map(|session| session.in_flight.values().flatten());
    let mut all: Vec<_> =
        state.unread(name).chain(in_flight.filter_map(|id| state.message(id))).collect();
    all.sort_by_key(|message| message.seq);
    all
}
