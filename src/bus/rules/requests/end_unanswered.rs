//! Requests that end without an answer: by expiry, with their author, or with the whole team.

use std::collections::BTreeSet;

use crate::bus::event::Event;
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::notice::notice;
use crate::bus::state::Session;
use crate::domain::ids::RequestId;
use crate::domain::limits;
use crate::domain::name::Name;

pub(in crate::bus::rules) fn expire(writer: &mut Writer<'_>, id: &RequestId) {
    end(writer, id);
    if let Some(request) = writer.state.request(id) {
        let text = notice!["your request ", *id, " expired: no member claimed it in time"];
        writer.notice_about(&request.id, &request.from, text);
    }
}

fn end(writer: &mut Writer<'_>, id: &RequestId) {
    writer.push(Event::RequestExpired { id: id.clone() });
    if let Some(request) = writer.state.request(id) {
        writer.supersede(&request.message);
    }
}

/// Ends all requests when the last member of a team leaves: later members have work of their own.
pub(in crate::bus::rules) fn end_with_team(writer: &mut Writer<'_>, last: &Session) {
    let state = writer.state;
    if state.live_sessions().iter().any(|live| live.id != last.id) {
        return;
    }
    let ended: BTreeSet<_> = writer.events.iter().filter_map(expired).cloned().collect();
    let left = state.unanswered_requests();
    // Requests without room in this append expire at their own time.
    let left = left.filter(|request| !ended.contains(&request.id));
    for request in left.take(limits::DUE_AT_ONCE) {
        end(writer, &request.id);
        let text = notice!["your request ", request.id, " expired: the last member left the team",];
        writer.notice_about(&request.id, &request.from, text);
    }
}

fn expired(event: &Event) -> Option<&RequestId> {
    match event {
        Event::RequestExpired { id } => Some(id),
        _ => None,
    }
}

/// Ends the requests of a member that will never read an answer, and notifies their owners.
pub(in crate::bus::rules) fn withdraw_own(writer: &mut Writer<'_>, name: &Name) {
    let state = writer.state;
    let own = state.unanswered_requests().filter(|own| own.from == *name);
    for request in own.take(limits::DUE_AT_ONCE) {
        // Requests without room in this append expire at their own time.
        if writer.is_full() {
            break;
        }
        end(writer, &request.id);
        if let Some(owner) = &request.owner {
            let text = notice![
                *name,
                " left, so its request ",
                request.id,
                ", which you claimed, is cancelled"
            ];
            writer.notice_about(&request.id, &owner.by, text);
        }
    }
}
