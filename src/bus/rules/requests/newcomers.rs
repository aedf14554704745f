//! Showing open requests to a newcomer.

use crate::bus::event::Event;
use crate::bus::rules::event_writer::Writer;
use crate::bus::state::{Request, State};
use crate::domain::ids::SessionId;
use crate::domain::name::Name;

/// Returns the requests that a newcomer may claim, oldest first.
pub(in crate::bus::rules) fn all_open<'a>(state: &'a State, name: &Name) -> Vec<&'a Request> {
    let open = state.open_requests();
    open.filter(|request| request.from != *name).collect()
}

/// Shows a newcomer more of the requests that were open when it came.
pub(in crate::bus::rules) fn show_open_requests(writer: &mut Writer<'_>, newcomer: SessionId) {
    let state = writer.state;
    if let Some(session) = state.session(newcomer) {
        let rest: Vec<_> = state.not_shown_to(session).collect();
        write_shown(writer, &session.name, &rest);
    }
}

/// Puts requests into a newcomer's inbox, as many as fit: the rest is due at once.
pub(in crate::bus::rules) fn write_shown(
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
            writer.hand_to_waits(shown, std::slice::from_ref(name));
        }
    }
}
