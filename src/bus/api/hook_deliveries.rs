//! Delivery by hooks. Each hook process holds a presence of its own until it has printed its messages, which shows other processes
//! whether it may still print them.

use super::answer_receipt::Answer;
use super::call::Call;
use super::membership::{Answered, Membership};
use crate::bus::error::BusError;
use crate::bus::rules::{Operation, unprinted_by_hooks};
use crate::bus::state::State;
use crate::domain::ids::{CallId, SessionId};
use crate::domain::messaging::DeliveryMethod;

impl Membership {
    /// Requeues the messages of hooks that ended before they had printed them.
    pub async fn end_hooks(&self) -> Result<(), BusError> {
        let bus = self.bus();
        bus.refresh()?;
        let mut gone = bus.look(|state| unprinted_by_hooks(state, self.session()));
        gone.retain(|call| !bus.is_held(presence_of(*call)));
        if gone.is_empty() {
            return Ok(());
        }
        self.ask(Operation::EndHooks(gone)).await.map(drop)
    }

    /// Begins a call which shows that the model began a step after all output of hooks, and so has read it. A tool call does not show
    /// that, nor does the hook after it: one step of a model may call several tools.
    pub fn call_after_a_step(&self) -> Call {
        self.call_after(|state| {
            let mut calls = state.calls_in_flight_by(self.session(), DeliveryMethod::Hook);
            calls.retain(|call| state.is_written(self.session(), *call));
            calls
        })
    }

    /// Begins a call which shows that the model has ended its turn by itself, and so has read also the answers of tools that its client
    /// had by then. That is all that proves the last ones of a session which ends with its turn.
    pub fn call_at_stop(&self) -> Call {
        self.call_after(|state| state.written_calls(self.session()))
    }

    fn call_after(&self, read: impl FnOnce(&State) -> Vec<CallId>) -> Call {
        let read = self.bus().look(read).into_iter();
        let received = read.map(|call| Answered { call, answer: Answer::given(), claimed: None });
        Call::new(self.clone(), received.collect())
    }
}

impl Call {
    /// Holds the presence of this call's hook until [`Call::end_hook`] or the end of the process. Called before any delivery.
    pub fn begin_hook(&self) -> Result<(), BusError> {
        self.membership().bus().hold(presence_of(self.id()))
    }

    /// Releases the presence of a call's hook.
    pub fn end_hook(membership: &Membership, call: CallId) {
        membership.bus().release(presence_of(call));
    }

    /// Records that a hook has printed the messages of this call, so that a later step of its model proves them.
    pub async fn printed(mut self) -> Result<(), BusError> {
        let written = self.ask(Operation::AnswerWritten(self.id())).await;
        self.answered().await;
        written.map(drop)
    }
}

/// Returns the id of a hook's presence. Call ids cannot collide with session ids: both are drawn from the same large space.
fn presence_of(call: CallId) -> SessionId {
    SessionId(call.0)
}
