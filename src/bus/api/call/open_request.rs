//! Opening requests: work on offer, to everybody or to one address.

use std::time::Duration;

use super::Call;
use crate::bus::api::bus::Bus;
use crate::bus::error::BusError;
use crate::bus::event::Event;
use crate::bus::rules::Operation;
use crate::domain::ids::RequestId;

impl Call {
    /// Opens a request that any member may claim.
    pub async fn open_request(
        &mut self,
        description: String,
        context: Option<String>,
        nudge: Duration,
        ttl: Duration,
    ) -> Result<RequestId, BusError> {
        self.open_request_to(None, (description, context), nudge, ttl).await
    }

    /// Opens a request, given its description and its context, that only those of this address see and may claim.
    pub async fn open_request_to(
        &mut self,
        to: Option<String>,
        (description, context): (String, Option<String>),
        nudge: Duration,
        ttl: Duration,
    ) -> Result<RequestId, BusError> {
        let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let open = Operation::Open {
            description: Bus::body(description),
            context: context.map(Bus::body),
            to,
            nudge_ms: ms(nudge),
            ttl_ms: ms(ttl),
        };
        let receipt = self.ask(open).await?;
        let opened = receipt.events.iter().find_map(|event| match event {
            Event::RequestOpened(opened) => Some(opened.id.clone()),
            _ => None,
        });
        opened.ok_or(BusError::Closed)
    }
}
