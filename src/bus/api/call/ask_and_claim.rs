//! Opening requests, claiming them, and what their owners do with their claims, within a call.

use std::time::Duration;

use crate::bus::api::bus::Bus;
use crate::bus::api::call::{Call, Claimed};
use crate::bus::api::unheard_claims::Claimable;
use crate::bus::error::BusError;
use crate::bus::event::Event;
use crate::bus::rules::{ClaimUpdate, Operation, Refusal};
use crate::bus::state::{Request, State};
use crate::domain::ids::RequestId;
use crate::domain::member::Label;
use crate::domain::messaging::{Audience, RequestStatus, Urgency};

/// A request that a call has opened.
#[derive(Clone, Debug)]
pub struct OpenedRequest {
    pub id: RequestId,
    /// Whether its requester had opened the same a moment ago, so that it is that request.
    pub is_double: bool,
}

impl Call {
    /// Opens a request that any member may claim, and whose claims last as long as their owners' sessions.
    pub async fn open_request(
        &mut self,
        description: String,
        context: Option<String>,
        nudge: Duration,
        ttl: Duration,
    ) -> Result<RequestId, BusError> {
        let opened =
            self.open_request_to(None, (description, context), (nudge, ttl, None), None).await?;
        Ok(opened.id)
    }

    /// Opens a request, given its description and its context, that only those of this address see and may claim. With a lease, claims
    /// end after that time without a sign of their owner. How much it matters is as usual unless said.
    pub async fn open_request_to(
        &mut self,
        to: Option<String>,
        (description, context): (String, Option<String>),
        (nudge, ttl, lease): (Duration, Duration, Option<Duration>),
        urgency: Option<Urgency>,
    ) -> Result<OpenedRequest, BusError> {
        let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let open = Operation::Open {
            description: Bus::body(description),
            context: context.map(Bus::body),
            to,
            nudge_ms: ms(nudge),
            ttl_ms: ms(ttl),
            lease_ms: lease.map(ms),
            urgency,
        };
        let receipt = match self.ask(open).await {
            Err(BusError::Refused(Refusal::Double { id })) => {
                let bus = self.membership.bus();
                let request = bus.look(|state| state.message(&id)?.request.clone());
                let id = request.ok_or(Refusal::Double { id })?;
                return Ok(OpenedRequest { id, is_double: true });
            }
            outcome => outcome?,
        };
        let opened = receipt.events.iter().find_map(|event| match event {
            Event::RequestOpened(opened) => Some(opened.id.clone()),
            _ => None,
        });
        let opened = opened.map(|id| OpenedRequest { id, is_double: false });
        opened.ok_or(BusError::Closed)
    }

    /// Claims a request. Losing is a value. A claim whose answer does not reach the client is released, unless the session held it
    /// before.
    pub async fn claim(&mut self, id: RequestId) -> Result<Claimed, BusError> {
        let (bus, session) = (self.membership.bus(), self.membership.session());
        let claims = self.membership.claims();
        let _turn = claims.turn().await;
        bus.refresh()?;
        let is_held = bus.look(|state| {
            let is_held = state.claimed_by(session).any(|held| held.id == id);
            // An earlier endpoint may have claimed it without its agent's knowledge.
            is_held && !state.is_claim_unheard(session, &id)
        });
        let claimed = Claimable::Request(id.clone());
        let depends_on_this = claims.begin(&claimed, self.id, is_held);
        self.claimed = depends_on_this.then(|| claimed.clone());
        let outcome = self.ask(Operation::Claim(id.clone(), self.id)).await;
        if matches!(outcome, Err(BusError::Refused(_))) {
            self.claimed = None;
            claims.end(&claimed, self.id);
        }
        let found = || -> Result<Request, BusError> {
            let request = self.membership.bus().find_request(&id)?;
            request.ok_or_else(|| Refusal::UnknownRequest { id: id.clone() }.into())
        };
        match outcome {
            Ok(_) => Ok(Claimed::Won(found()?)),
            Err(BusError::Refused(lost @ Refusal::ClaimLost { .. })) => {
                let mut request = found()?;
                // An overdue event may have decided it, and not be on the bus yet.
                if let Refusal::ClaimLost { status, .. } = &lost
                    && request.status == RequestStatus::Open
                {
                    request.status = *status;
                }
                let reason = lost.to_string();
                Ok(Claimed::Lost { request, reason })
            }
            // It may have ended so long ago that the state has forgotten it.
            Err(BusError::Refused(Refusal::UnknownRequest { .. })) => {
                let request = found()?;
                if !self.may_look_back_at(&request) {
                    return Err(Refusal::UnknownRequest { id: id.clone() }.into());
                }
                let by = request.owner.as_ref().map(|owner| owner.by.clone());
                let (id, status) = (id.clone(), request.status);
                let reason = Refusal::ClaimLost { id, status, by }.to_string();
                Ok(Claimed::Lost { request, reason })
            }
            Err(error) => Err(error),
        }
    }

    /// Says whether this session may learn what became of a request that the state may have forgotten. Whom a group meant then, nobody
    /// knows any more.
    fn may_look_back_at(&self, request: &Request) -> bool {
        let session = self.membership.session();
        let is_anybodys = matches!(request.only, None | Some(Audience::All));
        let knows = |state: &State| {
            state.session(session).is_some_and(|me| state.knows_request(me, request))
        };
        is_anybodys || self.membership.bus().look(knows)
    }

    /// Claims a lane. If the answer does not reach the client, it is released, unless the session had it before.
    pub async fn claim_lane(&mut self, lane: Label) -> Result<(), BusError> {
        let (bus, session) = (self.membership.bus(), self.membership.session());
        let claims = self.membership.claims();
        let _turn = claims.turn().await;
        bus.refresh()?;
        let is_held = bus
            .look(|state| state.session(session).is_some_and(|live| live.does_lane(lane.as_str())));
        let claimed = Claimable::Lane(lane.clone());
        let depends_on_this = claims.begin(&claimed, self.id, is_held);
        self.claimed = depends_on_this.then(|| claimed.clone());
        let outcome = self.ask(Operation::ClaimLane(lane)).await;
        if matches!(outcome, Err(BusError::Refused(_))) {
            self.claimed = None;
            claims.end(&claimed, self.id);
        }
        outcome.map(drop)
    }

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
                let past = past.filter(|past| self.may_look_back_at(past));
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
