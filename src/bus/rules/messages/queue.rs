//! Messages to a group that nobody is in yet: the first who fits gets each, or its sender is told that nobody came.

use std::collections::BTreeMap;

use super::deadlines::withdraw_nudges;
use super::resolve::Recipients;
use crate::bus::event::{Envelope, Event};
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::notice::{Notice, notice};
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::{Message, Session};
use crate::domain::limits;
use crate::domain::messaging::Audience;
use crate::domain::name::Name;

/// Returns the recipients of a message: nobody yet, if nobody fits and its sender says that it may wait, or if it is for the user. One that
/// may wait and that one member fits has none either: that member gets it from the queue in the same append, and if it dies before it has
/// read it, the next who fits does.
pub(super) fn or_queued(
    writer: &mut Writer<'_>,
    me: &Session,
    found: Result<Recipients, Refusal>,
    more: Option<&Envelope>,
) -> Result<Recipients, Refusal> {
    let recipients = match found {
        Err(Refusal::NobodyFits(nobody)) if more.is_some_and(|more| more.queue) => {
            Recipients { audience: Audience::Group(nobody.group), to: Vec::new() }
        }
        found => found?,
    };
    let only = only_one(writer, &recipients).filter(|_| more.is_some_and(|more| more.queue));
    let recipients = match only {
        Some(only) if !only.hung => return Ok(from_queue(writer, recipients)),
        // It waits for who comes first: this one back, or another.
        Some(_) => Recipients { to: Vec::new(), ..recipients },
        None => recipients,
    };
    if !recipients.to.is_empty() {
        return Ok(recipients);
    }
    let crosses = recipients.audience.elsewhere().is_some();
    let waiting = writer.state.queue().filter(|(_, is_held)| !is_held);
    let own = waiting.filter(|(message, _)| message.from.member() == Some(&me.name)).count();
    if own >= limits::QUEUED_OF_ONE {
        return Err(Refusal::TooManyQueued { count: own, own: true, crosses });
    }
    let all = writer.state.queue().count();
    if all >= limits::QUEUED && !make_room(writer, own) {
        return Err(Refusal::TooManyQueued { count: all, own: false, crosses });
    }
    Ok(recipients)
}

/// Returns the one member that a group means now, if it has room. What is for the lead passes on without the queue.
fn only_one<'a>(writer: &Writer<'a>, recipients: &Recipients) -> Option<&'a Session> {
    let Audience::Group(group) = &recipients.audience else { return None };
    let [only] = recipients.to.as_slice() else { return None };
    let only = writer.state.live(only).filter(|_| !group.is_lead())?;
    writer.has_room(&only.name, 1).then_some(only)
}

/// Lets a message come from the queue, unless that is full.
fn from_queue(writer: &Writer<'_>, recipients: Recipients) -> Recipients {
    if writer.state.queue().count() < limits::QUEUED {
        Recipients { to: Vec::new(), ..recipients }
    } else {
        recipients
    }
}

/// Removes one message from a full queue for a sender that has so many in it: one that somebody has by now, who keeps it; else the oldest
/// of a sender that has left, or of the one that has the most, who is told. So no member, and none that comes and goes under many names,
/// can keep the others out.
fn make_room(writer: &mut Writer<'_>, own: usize) -> bool {
    let state = writer.state;
    if let Some((held, _)) = state.queue().find(|(_, is_held)| *is_held) {
        writer.push(Event::MessageUnclaimed { id: held.id.clone() });
        return true;
    }
    let mut by_sender: BTreeMap<Option<&Name>, Vec<&Message>> = BTreeMap::new();
    for (message, _) in state.queue() {
        by_sender.entry(message.from.member()).or_default().push(message);
    }
    let has_left = |sender: Option<&Name>| sender.is_none_or(|name| state.live(name).is_none());
    let most = by_sender.into_iter().max_by_key(|(name, sent)| (has_left(*name), sent.len()));
    let Some((sender, sent)) = most else { return false };
    if !has_left(sender) && sent.len() <= own {
        return false;
    }
    let Some(oldest) = sent.into_iter().min_by_key(|message| message.seq) else { return false };
    let why = notice![" gave way to another one: too many wait for somebody who fits"];
    end_waiting(writer, oldest, &why);
    true
}

/// Ends a message that nobody has got, and tells its sender why.
pub(in crate::bus::rules) fn end_waiting(writer: &mut Writer<'_>, message: &Message, why: &Notice) {
    writer.push(Event::MessageUnclaimed { id: message.id.clone() });
    writer.end_waits_for(&message.id, |_, _| true);
    let Some(sender) = message.from.member() else { return };
    let address = match &message.audience {
        Audience::Group(group) => notice![*group],
        Audience::Elsewhere(address) => notice![**address],
        _ => Notice::default(),
    };
    writer.notice(sender, notice!["your message ", message.id, " to ", address, *why]);
}

/// Delivers the messages that somebody fits by now, and ends those that have waited for too long.
pub(in crate::bus::rules) fn deliver_queued(writer: &mut Writer<'_>) {
    let state = writer.state;
    for (id, session) in state.queue_that_fits() {
        if writer.is_full() {
            return;
        }
        let to = vec![session.name.clone()];
        let before = state.message(id).and_then(|message| message.holder()).map(|(name, _)| name);
        writer.push(Event::MessageAddressed { id: id.clone(), to: to.clone().into() });
        if let Some(before) = before.filter(|before| **before != session.name) {
            let members = vec![before.clone()].into();
            writer.push(Event::MessageSuperseded { id: id.clone(), members });
            // The next one owes the answer from now on.
            withdraw_nudges(writer, id, std::slice::from_ref(before));
        }
        if let Some(message) = state.message(id) {
            writer.deliver_to_waits(message, &to);
        }
    }
    for id in state.queue_that_lapsed(writer.now) {
        if writer.is_full() {
            return;
        }
        if state.message(id).is_some_and(|message| state.fits_somebody(message)) {
            continue;
        }
        match state.message(id) {
            Some(message) if message.audience.elsewhere().is_some() => {
                let why = notice![" expired: for 30 days it could not be delivered there"];
                end_waiting(writer, message, &why);
            }
            Some(message) => {
                end_waiting(writer, message, &notice![" expired: nobody who fits came"]);
            }
            None => writer.push(Event::MessageUnclaimed { id: id.clone() }),
        }
    }
}
