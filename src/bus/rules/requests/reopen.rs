//! Reopening a request whose owner has left or does not respond.

use super::remind::{claimants, remind};
use crate::bus::event::{Addressees, Event};
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::notice::notice;
use crate::bus::state::{Delivery, Message, Request, Session};
use crate::domain::ids::RequestId;
use crate::domain::limits;
use crate::domain::name::Name;

/// Reopens the requests that a session has claimed. Timers reopen those without room in this append.
pub(in crate::bus::rules) fn reopen_claims(writer: &mut Writer<'_>, session: &Session) {
    let held = writer.state.claimed_by(session.id);
    for request in held.take(limits::DUE_AT_ONCE) {
        if writer.is_full() {
            break;
        }
        reopen(writer, &request.id);
    }
}

/// Reopens a request whose owner has left, is leaving, or has been silent for too long.
pub(in crate::bus::rules) fn reopen(writer: &mut Writer<'_>, id: &RequestId) {
    let owner = writer.state.request(id).and_then(|one| one.owner.as_ref());
    let lives = owner.is_some_and(|owner| {
        writer.state.session(owner.session).is_some() && !writer.is_leaving(owner.session)
    });
    let how = if lives { "stopped responding" } else { "is gone" };
    owner_lost(writer, id, how);
}

/// Reopens a request whose owner was lost; above the limit of lost owners it fails.
pub(in crate::bus::rules) fn owner_lost(
    writer: &mut Writer<'_>,
    id: &RequestId,
    how: &'static str,
) {
    let lost = writer.state.request(id).map_or(0, |request| request.lost_owners.saturating_add(1));
    if lost >= limits::LOST_OWNERS {
        fail_without_owner(writer, id, how);
    } else {
        reopen_as(writer, id, how, Reopening { lost_owners: lost, released: false });
    }
}

fn fail_without_owner(writer: &mut Writer<'_>, id: &RequestId, how: &'static str) {
    writer.push(Event::RequestFailed { id: id.clone() });
    let Some(request) = writer.state.request(id) else {
        return;
    };
    if let Some(owner) = &request.owner {
        let text = notice![
            "your request ",
            *id,
            " failed: its owner was lost for the third time. The last one, ",
            owner.by,
            ", ",
            how,
            ". Divide the work into smaller parts, or assign it"
        ];
        writer.notice_about(&request.id, &request.from, text);
    }
}

/// What the event of a reopening says besides the request.
#[derive(Clone, Copy, Default)]
pub(in crate::bus::rules) struct Reopening {
    pub(in crate::bus::rules) lost_owners: u32,
    pub(in crate::bus::rules) released: bool,
}

/// Reopens a request, and notifies its author and the team, with the reason.
pub(in crate::bus::rules) fn reopen_as(
    writer: &mut Writer<'_>,
    id: &RequestId,
    how: &'static str,
    Reopening { lost_owners, released }: Reopening,
) {
    writer.push(Event::RequestReopened { id: id.clone(), lost_owners, released });
    let state = writer.state;
    let Some(request) = state.request(id) else {
        return;
    };
    let Some(owner) = &request.owner else {
        return;
    };
    let gone = &owner.by;
    if let Some(message) = state.message(&request.message) {
        let not_shown = not_shown_to(writer, request, message);
        if !not_shown.is_empty() {
            let to = if request.only.is_none() && not_shown.len() > limits::NAMED_AT_ONCE {
                Addressees::AllBut(vec![request.from.clone()])
            } else {
                not_shown.clone().into()
            };
            writer.push(Event::MessageAddressed { id: request.message.clone(), to });
            writer.deliver_to_waits(message, &not_shown);
        }
    }
    let text =
        format!("request {id} of {} is open again: {gone}, which claimed it, {how}", request.from);
    remind(writer, request, released.then_some(gone), text);
    let text =
        notice!["your request ", *id, " is open again: ", *gone, ", which claimed it, ", how];
    writer.notice_about(&request.id, &request.from, text);
}

/// Returns the live members to which a reopened request must be shown: it was withdrawn from them, or they joined while it was
/// claimed.
fn not_shown_to(writer: &Writer<'_>, request: &Request, message: &Message) -> Vec<Name> {
    let not_shown =
        |name: &Name| matches!(message.delivery(name), None | Some(Delivery::Superseded));
    claimants(writer, request).into_iter().filter(not_shown).collect()
}
