//! Delivers unread messages by a call.

use crate::bus::event::Event;
use crate::bus::rules::command::Pick;
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::{Delivery, Message, State};
use crate::domain::ids::{CallId, SessionId};
use crate::domain::messaging::DeliveryMethod;
use crate::domain::name::Name;

pub(in crate::bus::rules) fn take(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
    (call, method): (CallId, DeliveryMethod),
    pick: &Pick,
) -> Result<(), Refusal> {
    let holder = writer.acts_for(me, session)?;
    // Messages that this command itself proves to be seen are not delivered again.
    let seen: Vec<_> = writer.seen_calls().collect();
    let seen_now = |message: &Message| match message.delivery(&holder.name) {
        Some(Delivery::Unread { last: Some(last) }) => seen.contains(&last),
        _ => false,
    };
    let picked = picked(writer.state, &holder.name, pick, seen_now);
    let ids: Vec<_> = picked.iter().map(|message| message.id.clone()).collect();
    if !ids.is_empty() {
        let member = holder.name.clone();
        writer.push(Event::MessageHanded { ids, member, session, call, method });
    }
    Ok(())
}

/// Returns the unread messages of a member that a pick selects, in the order of its inbox, without those that are left out.
pub(in crate::bus) fn picked<'a>(
    state: &'a State,
    name: &Name,
    pick: &Pick,
    left_out: impl Fn(&Message) -> bool,
) -> Vec<&'a Message> {
    let (mut picked, mut bytes) = (Vec::new(), 0);
    for message in state.unread(name) {
        let only = pick.only.as_ref();
        let selected = only.is_none_or(|only| only.contains(&message.id))
            && pick.from.as_ref().is_none_or(|from| message.from.member() == Some(from))
            && pick.to.as_ref().is_none_or(|to| message.audience.is_to(to))
            && pick.kind.is_none_or(|kind| message.kind == kind);
        if !selected || left_out(message) {
            continue;
        }
        bytes += usize::try_from(message.bytes()).unwrap_or(usize::MAX).min(pick.head_bytes);
        if picked.len() == pick.limit || (bytes > pick.bytes && !picked.is_empty()) {
            break;
        }
        picked.push(message);
    }
    picked
}
