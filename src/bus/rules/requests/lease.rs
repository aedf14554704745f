//! The lease of a claim is due: its owner has given a sign meanwhile, or is reminded, or loses the claim.

use super::reopen::owner_lost;
use crate::bus::event::Event;
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::notice::notice;
use crate::domain::ids::RequestId;
use crate::domain::messaging::RequestStatus;

pub(in crate::bus::rules) fn lease_due(writer: &mut Writer<'_>, id: &RequestId) {
    let state = writer.state;
    let request = state.request(id).filter(|one| one.status == RequestStatus::Claimed);
    let found = request.and_then(|one| Some((one.lease?, one.owner.as_ref()?)));
    let Some((lease, owner)) = found else {
        return;
    };
    let session = state.session(owner.session);
    match session.and_then(|session| lease.left_ms(session, writer.now.wall_ms)) {
        Some(left_ms) => {
            writer.push(Event::RequestRenewed { id: id.clone(), left_ms });
        }
        _ if !lease.reminded => {
            writer.push(Event::RequestReminded { id: id.clone() });
            let left_s = lease.after_reminder_ms() / 1000;
            let text = notice![
                "you have claimed ",
                *id,
                " and were silent for a while: in ",
                left_s,
                " s it is offered to others again. Any call of these tools keeps it; update_claim releases it, or hands it over"
            ];
            // Not a notice about the request, which would end waits for it.
            writer.notice(&owner.by, text);
        }
        _ => owner_lost(writer, id, "gave no sign in the time of its lease"),
    }
}
