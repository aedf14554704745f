//! Giving back a claimed request.

use super::reopen::reopen_as;
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::refusal::Refusal;
use crate::domain::ids::{RequestId, SessionId};
use crate::domain::messaging::RequestStatus;

/// Opens a request again because its owner does not answer it.
pub(in crate::bus::rules) fn give_back(
    writer: &mut Writer<'_>,
    me: SessionId,
    id: &RequestId,
) -> Result<(), Refusal> {
    let me = writer.session(me)?;
    let request =
        writer.state.request(id).ok_or_else(|| Refusal::UnknownRequest { id: id.clone() })?;
    let owner = request.owner.as_ref();
    let is_mine = owner.is_some_and(|owner| owner.session == me.id);
    if request.status != RequestStatus::Claimed || !is_mine {
        let by = owner.filter(|_| request.status != RequestStatus::Open);
        let by = by.map(|owner| owner.by.clone());
        return Err(Refusal::NotYourClaim { id: id.clone(), status: request.status, by });
    }
    reopen_as(writer, id, "gave it back");
    Ok(())
}
