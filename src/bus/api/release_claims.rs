//! Releasing the claim of a call whose answer did not reach its client, unless a later call has made the same claim.

#[cfg(test)]
mod tests;

use super::membership::{Answered, Membership};
use super::retry_pauses::Retries;
use super::unheard_claims::Claimable;
use crate::bus::error::BusError;
use crate::bus::event::Event;
use crate::bus::rules::Operation;
use crate::bus::shared::Receipt;
use crate::domain::ids::CallId;
use crate::domain::messaging::MessageKind;

impl Membership {
    /// Releases a claim whose answer did not reach the client, unless a later call has made the same claim. If the bus fails now, a
    /// task tries again, for as long as a delivery may stay in flight.
    pub(crate) async fn release(
        &self,
        call: CallId,
        claimed: Option<Claimable>,
    ) -> Result<(), BusError> {
        let Some(claimed) = claimed else {
            return Ok(());
        };
        let outcome = self.try_to_release(call, &claimed).await;
        if let Err(BusError::Log(error)) = outcome {
            tracing::debug!("failed to release {claimed}, will retry: {error}");
            let membership = self.clone();
            tokio::spawn(async move { membership.release_later(call, &claimed).await });
            return Ok(());
        }
        outcome
    }

    async fn release_later(&self, call: CallId, claimed: &Claimable) {
        let mut retries = Retries::begin();
        while retries.next().await {
            match self.try_to_release(call, claimed).await {
                Err(BusError::Log(_)) => {}
                _ => return,
            }
        }
        tracing::warn!(
            "{claimed} stays claimed by {}, which never received the answer",
            self.name()
        );
    }

    async fn try_to_release(&self, call: CallId, claimed: &Claimable) -> Result<(), BusError> {
        let claims = self.claims();
        let _turn = claims.turn().await;
        if !claims.depends_on(claimed, call) {
            return Ok(());
        }
        let release = match claimed {
            Claimable::Request(id) => Operation::Release(id.clone(), call),
            Claimable::Lane(lane) => Operation::LoseLane(lane.clone()),
        };
        let outcome = self.ask(release).await;
        if !matches!(outcome, Err(BusError::Log(_))) {
            claims.end(claimed, call);
        }
        outcome.map(drop)
    }

    /// Notes which requests this session has written about: its client knows of its claims on them, if it had the answers to them.
    /// Whoever writes without that answer may know the request alone.
    pub(crate) fn note_wrote(&self, receipt: &Receipt) {
        for event in &receipt.events {
            let Event::MessageSent(sent) = event else {
                continue;
            };
            let Some(thread) = sent.thread.as_ref() else {
                continue;
            };
            let about = self.bus().look(|state| {
                let first = state.message(thread);
                let first = first.filter(|first| first.kind == MessageKind::Request);
                first.and_then(|first| first.request.clone())
            });
            if let Some(request) = about.map(Claimable::Request)
                && sent.from.member() == Some(self.name())
                && self.has_answer_to_claim(&request)
            {
                self.claims().know(&request);
            }
        }
    }

    fn has_answer_to_claim(&self, claimed: &Claimable) -> bool {
        let is_answer = |one: &Answered| one.claimed.as_ref() == Some(claimed);
        self.answered().iter().any(|one| is_answer(one) && one.answer.is_given())
    }
}
