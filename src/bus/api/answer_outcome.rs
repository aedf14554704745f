//! What follows when the answer of a call reached its client, or did not: the bus records it, or the call is undone.

use super::membership::Membership;
use super::retry_pauses::Retries;
use crate::bus::error::BusError;
use crate::bus::rules::Operation;
use crate::domain::ids::CallId;

impl Membership {
    /// Undoes a call whose answer was not read: requeues its messages and releases its claim.
    pub async fn unanswered(&self, call: CallId) -> Result<(), BusError> {
        let noted = {
            let mut answered = self.answered();
            answered.extract_if(.., |noted| noted.call == call).next()
        };
        let Some(noted) = noted else { return Ok(()) };
        let session = self.session();
        let settle = Operation::Settle { session, call, seen: false };
        let settled = self.ask(settle).await.map(drop);
        settled.and(self.release(call, noted.claimed).await)
    }

    /// Records that the answer of a call was written to its client. An agent's bridge has to know that: the end of a turn proves only
    /// such answers. If the bus fails now, a task tries again.
    pub async fn written(&self, call: CallId) -> Result<(), BusError> {
        let is_agent = self.bus().look(|state| {
            let session = state.session(self.session());
            session.is_some_and(|session| session.owner.is_some())
        });
        if !is_agent {
            return Ok(());
        }
        match self.ask(Operation::AnswerWritten(call)).await {
            Err(BusError::Log(error)) => {
                tracing::debug!("failed to record that an answer was written, will retry: {error}");
                let membership = self.clone();
                tokio::spawn(async move { membership.written_later(call).await });
                Ok(())
            }
            outcome => outcome.map(drop),
        }
    }

    async fn written_later(&self, call: CallId) {
        let mut retries = Retries::begin();
        while retries.next().await {
            match self.ask(Operation::AnswerWritten(call)).await {
                Err(BusError::Log(_)) => {}
                _ => return,
            }
        }
        // By now the messages of the call are requeued, and its claim is released.
        tracing::warn!("gave up recording that an answer was written");
    }
}
