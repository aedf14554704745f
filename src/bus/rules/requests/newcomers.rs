//! Showing open requests to a newcomer.

use crate::bus::event::Event;
use crate::bus::rules::event_writer::Writer;
use crate::bus::state::{Request, State};
use crate::domain::ids::SessionId;
use crate::domain::messaging::Audience;
use crate::domain::name::Name;

/// Returns the open requests that a member may claim who is about to join, oldest first. Those for a group come a moment later: whether
/// it is one of them is known once it has joined.
pub(in crate::bus::rules) fn claimable_by<'a>(state: &'a State, name: &Name) -> Vec<&'a Request> {
    let is_meant = |request: &&Request| match &request.only {
        None | Some(Audience::All) => true,
        Some(Audience::One(only)) => only == name,
        Some(Audience::Group(_) | Audience::Elsewhere(_)) => false,
    };
    let open = state.open_requests().filter(is_meant);
    open.filter(|request| request.from != *name).collect()
}

/// Shows a newcomer more of the requests that were open when it joined.
pub(in crate::bus::rules) fn show_remaining_requests(writer: &mut Writer<'_>, newcomer: SessionId) {
    let state = writer.state;
    if let Some(session) = state.session(newcomer) {
        let rest: Vec<_> = state.not_shown_to(session).collect();
        show_requests(writer, &session.name, &rest);
    }
}

/// Puts as many requests into a newcomer's inbox as the append has room for. The rest is due at once.
pub(in crate::bus::rules) fn show_requests(
    writer: &mut Writer<'_>,
    name: &Name,
    requests: &[&Request],
) {
    for request in requests {
        if writer.is_full() {
            return;
        }
        writer.push(Event::MessageAddressed {
            id: request.message.clone(),
            to: vec![name.clone()].into(),
        });
        let shown = writer.state.message(&request.message);
        if let Some(shown) = shown {
            writer.deliver_to_waits(shown, std::slice::from_ref(name));
        }
    }
}
