//! Acknowledging messages within a call, or in the name of a program that makes no calls of tools.

use crate::bus::api::call::Call;
use crate::bus::error::BusError;
use crate::bus::event::Event;
use crate::bus::rules::{Operation, Refusal};
use crate::bus::state::Delivery;
use crate::domain::ids::MessageId;
use crate::domain::messaging::Acknowledgement;
use crate::domain::text::visible_letters::seen;

/// A message as its recipient has acknowledged it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcknowledgedMessage {
    pub id: MessageId,
    /// How far it is now, which may be further than this call asked for.
    pub status: Acknowledgement,
    /// Whether this call has changed that, or has resolved its thread once more.
    pub is_new: bool,
}

impl Call {
    /// Says how a thread was resolved that this member would resolve.
    async fn resolved_before(&self, id: MessageId) -> Result<Refusal, BusError> {
        let (bus, thread) = (self.membership().bus().clone(), id.clone());
        let reading = tokio::task::spawn_blocking(move || bus.thread_end(&thread));
        let end = reading.await.map_err(|_| BusError::Closed)??;
        let (by, summary) = end.map(|end| (end.by, seen(&end.summary))).unzip();
        Ok(Refusal::ThreadResolved { id, by, summary })
    }

    /// Says what has become of messages to this member.
    pub async fn acknowledge(
        &mut self,
        ids: Vec<MessageId>,
        status: Acknowledgement,
        note: Option<String>,
    ) -> Result<Vec<AcknowledgedMessage>, BusError> {
        let ask = Operation::Acknowledge { ids: ids.clone(), status, note };
        let receipt = match self.ask(ask).await {
            Err(BusError::Refused(Refusal::ThreadResolved { id, .. })) => {
                return Err(self.resolved_before(id).await?.into());
            }
            outcome => outcome?,
        };
        let is_new = |id: &MessageId| {
            receipt.events.iter().any(|event| match event {
                Event::MessageAcknowledged(acknowledged) => acknowledged.ids.contains(id),
                Event::ThreadResolved(resolved) => resolved.threads.contains(id),
                _ => false,
            })
        };
        let (bus, me) = (self.membership().bus(), self.membership().name());
        let now = |id: &MessageId| {
            let delivery = bus.look(|state| state.message(id).and_then(|one| one.delivery(me)));
            match delivery {
                Some(Delivery::Acknowledged(now)) => now,
                // It is forgotten already.
                _ => status,
            }
        };
        let acknowledged = ids.into_iter().map(|id| {
            let (status, is_new) = (now(&id), is_new(&id));
            AcknowledgedMessage { id, status, is_new }
        });
        Ok(acknowledged.collect())
    }
}
