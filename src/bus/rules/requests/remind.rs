//! Reminding the team of a request.

use crate::bus::event::{Body, Event};
use crate::bus::rules::event_writer::{Post, Writer};
use crate::bus::rules::notice::notice;
use crate::bus::state::{Due, Request};
use crate::domain::ids::RequestId;
use crate::domain::messaging::{Audience, MessageKind};
use crate::domain::name::Name;

/// Reminds all members of an unclaimed request, and notifies its author.
pub(in crate::bus::rules) fn nudge(writer: &mut Writer<'_>, id: &RequestId) {
    writer.push(Event::RequestNudged { id: id.clone() });
    let Some(request) = writer.state.request(id) else {
        return;
    };
    let text =
        format!("request {id} of {} is still open; claim it with claim_request", request.from);
    remind(writer, request, None, text);
    let expiry = Due::Expire(id.clone());
    let left_s = writer.state.timers.left_ms(&expiry, writer.now.tick.ms) / 1000;
    let who = match request.only {
        None => "All members",
        Some(_) => "Those who may claim it",
    };
    let text = notice![
        "your request ",
        *id,
        " is still unclaimed. ",
        who,
        " were reminded; it stays open for another ",
        left_s,
        " s"
    ];
    // Not a notice about the request, which would end waits for it.
    writer.notice(&request.from, text);
}

/// Reminds all members that may claim a request, but one who has released it.
pub(in crate::bus::rules) fn remind(
    writer: &mut Writer<'_>,
    request: &Request,
    released_by: Option<&Name>,
    text: String,
) {
    let mut others = claimants(writer, request);
    others.retain(|name| Some(name) != released_by);
    let to = writer.with_room(others);
    if to.is_empty() {
        return;
    }
    let mut post =
        Post::new(MessageKind::Nudge, request.from.clone(), request.from.clone(), Body::Text(text));
    post.audience = request.only.clone().unwrap_or(Audience::All);
    post.to = to;
    post.request = Some(request.id.clone());
    post.thread = Some(request.message.clone());
    writer.post(post);
}

/// Returns the live members that may claim a request, without a session that leaves by this decision.
pub(super) fn claimants(writer: &Writer<'_>, request: &Request) -> Vec<Name> {
    let live = writer.state.claimants(request).into_iter();
    live.filter(|session| !writer.is_leaving(session.id))
        .map(|session| session.name.clone())
        .collect()
}
