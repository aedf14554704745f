//! What hooks take: each run of a hook holds a presence of its own while it speaks, so that it can be told whether one that has not
//! said what it took still will.

use super::call::Call;
use super::membership::Membership;
use crate::bus::error::BusError;
use crate::bus::rules::{Operation, unsaid_by_hooks};
use crate::domain::ids::{CallId, SessionId};

impl Membership {
    /// Gives back what hooks took that ended before they had said it.
    pub async fn end_hooks(&self) -> Result<(), BusError> {
        let bus = self.bus();
        bus.refresh()?;
        let mut gone = bus.look(|state| unsaid_by_hooks(state, self.session()));
        gone.retain(|call| !bus.is_held(presence_of(*call)));
        if gone.is_empty() {
            return Ok(());
        }
        self.ask(Operation::EndHooks(gone)).await.map(drop)
    }
}

impl Call {
    /// Shows that the hook of this call runs, until [`Call::end_hook`] or the end of the process. It comes before anything is taken.
    pub fn begin_hook(&self) -> Result<(), BusError> {
        self.membership().bus().hold(presence_of(self.id()))
    }

    /// Takes back that the hook of a call runs.
    pub fn end_hook(membership: &Membership, call: CallId) {
        membership.bus().release(presence_of(call));
    }

    /// Says that a hook has said what this call was handed, so that a later step of its model proves it.
    pub async fn said(mut self) -> Result<(), BusError> {
        let written = self.ask(Operation::AnswerWritten(self.id())).await;
        self.answered().await;
        written.map(drop)
    }
}

/// The presence of a hook: the ids of calls and of sessions are drawn from the same large space.
fn presence_of(call: CallId) -> SessionId {
    SessionId(call.0)
}
