//! Mail of a member that has left: what waits for its return, and what ends with a notice to the sender.

use std::collections::BTreeMap;

use crate::bus::event::Event;
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::notice::notice;
use crate::bus::state::{Message, Session, State};
use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::message::MessageKind;
use crate::domain::name::Name;

/// Ends what is of no use to a later life of the same name: shutdowns, nudges, and requests that somebody else has. A name that
/// the bridge made up waits for nothing but mail: open requests are shown to whoever takes it up, as to any newcomer.
pub(in crate::bus::rules) fn drop_what_never_waits(
    writer: &mut Writer<'_>,
    session: &Session,
    is_chosen: bool,
) {
    let state = writer.state;
    let is_useless = |message: &&&Message| match message.kind {
        MessageKind::Shutdown | MessageKind::Nudge => true,
        MessageKind::Request => message
            .request
            .as_ref()
            .and_then(|id| state.request(id))
            .is_none_or(|request| !is_chosen || !request.is_offered_after(session.id)),
        _ => false,
    };
    let mail = unsettled(state, &session.name);
    // What is left of very many of them does no harm but to be shown once.
    for message in mail.iter().filter(is_useless) {
        if writer.is_full() {
            break;
        }
        writer.push(Event::MessageExpired { id: message.id.clone(), member: session.name.clone() });
    }
}

/// Ends the mail of an absent name whose time is over, and forgets the name with the last of it.
pub(in crate::bus::rules) fn end_mail(writer: &mut Writer<'_>, name: &Name) {
    let what = if writer.state.has_waited(name) { "has not come back" } else { "has left" };
    if give_up_mail(writer, name, what) == MailEnd::Ended {
        writer.push(Event::MemberForgotten { name: name.clone() });
    }
}

/// Whether all mail of a name has come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bus::rules) enum MailEnd {
    Ended,
    /// There is more than fits into one append; its timer brings the rest.
    More,
}

/// Ends the mail of a name that will not read it, and tells the senders.
pub(in crate::bus::rules) fn give_up_mail(
    writer: &mut Writer<'_>,
    name: &Name,
    what: &'static str,
) -> MailEnd {
    let mut undelivered: BTreeMap<Name, Vec<MessageId>> = BTreeMap::new();
    let mut outcome = MailEnd::Ended;
    for (number, message) in unsettled(writer.state, name).into_iter().enumerate() {
        if number > 0 && (writer.is_full() || undelivered.len() >= limits::SENDERS_AT_ONCE) {
            outcome = MailEnd::More;
            break;
        }
        writer.push(Event::MessageExpired { id: message.id.clone(), member: name.clone() });
        let personal = matches!(message.kind, MessageKind::Message | MessageKind::Response);
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

/// Returns the messages that a name has neither seen nor will see otherwise: unread ones, and those in the hands of its session.
fn unsettled<'a>(state: &'a State, name: &Name) -> Vec<&'a Message> {
    let handed = state.live(name).into_iter().flat_map(|session| session.handed.values().flatten());
    let mut all: Vec<_> =
        state.unread(name).chain(handed.filter_map(|id| state.message(id))).collect();
    all.sort_by_key(|message| message.seq);
    all
}
