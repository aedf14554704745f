//! What the owner of a request does with its claim, within a call.

use crate::bus::api::call::Call;
use crate::bus::error::BusError;
use crate::bus::rules::{ClaimUpdate, Operation, Refusal};
use crate::bus::state::Request;
use crate::domain::ids::RequestId;

impl Call {
    /// Updates a claim of this session. Returns the request as it is afterwards.
    pub async fn update_claim(
        &mut self,
        id: &RequestId,
        update: ClaimUpdate,
    ) -> Result<Request, BusError> {
        match self.ask(Operation::UpdateClaim(id.clone(), update)).await {
            // It may have ended so long ago that the state has forgotten it.
            Err(BusError::Refused(Refusal::UnknownRequest { .. })) => {
                let past = self.membership().bus().find_request(id)?;
                let past = past.ok_or_else(|| Refusal::UnknownRequest { id: id.clone() })?;
                let (id, status) = (id.clone(), past.status);
                Err(Refusal::ClaimOver { id, status, by: past.owner.map(|owner| owner.by) }.into())
            }
            Err(error) => Err(error),
            Ok(receipt) => {
                self.membership().note_wrote(&receipt);
                let request = self.membership().bus().look(|state| state.request(id).cloned());
                request.ok_or(BusError::Closed)
            }
        }
    }
}
