//! Rates and doubles: a member sends at most so fast, and the same message once.

use crate::bus::event::RequestOpened;
use crate::bus::rules::event_writer::{Post, Writer};
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::{Beside, Delivery, Likeness, Pace, Session};
use crate::domain::ids::MessageId;
use crate::domain::messaging::RequestStatus;
use crate::domain::name::Name;

/// Refuses a message that the member has just sent, and one that comes too fast after the others.
pub(in crate::bus::rules) fn check_pace(
    writer: &Writer<'_>,
    me: &Session,
    post: &Post,
) -> Result<(), Refusal> {
    match just_sent(writer, &me.name, post) {
        Some(id) => Err(Refusal::Double { id: id.clone() }),
        None => check_rate(writer, &me.name),
    }
}

/// Returns the message of a moment ago that this one repeats. One that has ended without a reader is no such message.
pub(super) fn just_sent<'a>(writer: &Writer<'a>, me: &Name, post: &Post) -> Option<&'a MessageId> {
    let likeness = Likeness {
        kind: post.kind,
        audience: &post.audience,
        reply_to: post.reply_to.as_ref(),
        priority: post.priority,
        beside: Beside::Envelope(post.more.as_deref()),
        body: &post.body,
    };
    let id = pace_of(writer, me)?.double(&likeness, writer.now.tick.ms)?;
    let mut deliveries =
        writer.state.message(id).into_iter().flat_map(|message| message.deliveries.iter());
    let may_be_read = |(_, delivery): (_, &Delivery)| !delivery.is_final() || delivery.is_seen();
    let is_on_its_way = writer.state.is_queued(id) || writer.state.is_relayed(id);
    (deliveries.any(may_be_read) || is_on_its_way).then_some(id)
}

/// Refuses a request that the member has just opened. One that has ended without an answer is opened anew.
pub(in crate::bus::rules) fn check_opened_once(
    writer: &Writer<'_>,
    opened: &RequestOpened,
) -> Result<(), Refusal> {
    let (state, audience) = (writer.state, opened.audience());
    let likeness = Likeness::of_request(opened, &audience);
    let pace = pace_of(writer, &opened.from);
    let before = pace.and_then(|pace| pace.double(&likeness, writer.now.tick.ms));
    let request = before.and_then(|id| state.request(state.message(id)?.request.as_ref()?));
    match request.map(|request| (request, request.status)) {
        None | Some((_, RequestStatus::Expired | RequestStatus::Failed)) => Ok(()),
        Some((request, _)) => Err(Refusal::Double { id: request.message.clone() }),
    }
}

/// Refuses a message or a request that comes too fast after the others.
pub(in crate::bus::rules) fn check_rate(writer: &Writer<'_>, me: &Name) -> Result<(), Refusal> {
    let limits = writer.state.limits();
    let wait_ms = pace_of(writer, me).and_then(|pace| pace.wait_ms(&limits, writer.now.tick.ms));
    match wait_ms {
        Some(wait_ms) => Err(Refusal::TooFast { limits, wait_ms }),
        None => Ok(()),
    }
}

/// Returns how fast a member has sent, if the team has a limit of that.
fn pace_of<'a>(writer: &Writer<'a>, me: &Name) -> Option<&'a Pace> {
    let has_limit = writer.state.limits().messages_per_minute > 0;
    let member = writer.state.member(me).filter(|_| has_limit)?;
    member.pace.as_deref()
}
