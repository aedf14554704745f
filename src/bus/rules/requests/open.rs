//! Opening a request.

use crate::bus::event::{Body, Event, RequestOpened};
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::messages::{
    Recipients, check_body, check_opened_once, check_rate, follow, resolve,
};
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::{Message, Origin};
use crate::domain::ids::{RequestId, SessionId};
use crate::domain::limits;
use crate::domain::messaging::{Audience, Group, Priority, Urgency};

pub(in crate::bus::rules) fn open(
    writer: &mut Writer<'_>,
    me: SessionId,
    to: Option<&str>,
    (description, context): (&Body, Option<&Body>),
    (nudge_ms, ttl_ms, lease_ms): (u64, u64, Option<u64>),
    urgency: Option<Urgency>,
) -> Result<(), Refusal> {
    check_body("description", description)?;
    if let Some(context) = context {
        check_body("context", context)?;
    }
    let me = writer.session(me)?;
    let (only, everyone) = match to.map(|to| resolve(writer, me, to)).transpose()? {
        None => (None, writer.everyone_but(&me.name)),
        Some(Recipients { audience: Audience::Group(Group::Human), .. }) => {
            return Err(Refusal::ToUser { word: Group::Human.to_string() });
        }
        Some(Recipients { audience: Audience::All, to }) => (None, to),
        Some(Recipients { audience, to }) => (Some(audience), to),
    };
    let message = writer.message_id();
    let id = writer.new_id(RequestId::from_bits, |state, id| state.requests.contains_key(id));
    // A member with a full inbox is shown the request if it is reopened after a claim, and can claim it anyway.
    let to = writer.with_room(everyone);
    let opened = RequestOpened {
        id,
        message,
        from: me.name.clone(),
        to: writer.addressees(to.clone()),
        only,
        description: description.clone(),
        context: context.cloned(),
        nudge_ms,
        ttl_ms,
        lease_ms,
        urgency: urgency.filter(|urgency| *urgency != Priority::Normal.urgency()),
    };
    check_opened_once(writer, &opened)?;
    let own = writer.state.pending_requests(&me.name);
    if own >= limits::MAX_OWN_REQUESTS {
        let limit = limits::MAX_OWN_REQUESTS;
        return Err(Refusal::TooManyRequests { limit });
    }
    check_rate(writer, &me.name)?;
    let topic = match &opened.only {
        Some(Audience::Group(Group::Topic(topic))) => Some(topic.clone()),
        _ => None,
    };
    let shown = Message::opened(&opened, Origin::default());
    writer.push(Event::RequestOpened(opened));
    writer.deliver_to_waits(&shown, &to);
    topic.map_or(Ok(()), |topic| follow(writer, me, &topic))
}
