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
use crate::sys::random_ids;

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

    /// Begins a call which shows that the model began a step after all output of hooks in this conversation, and so has read it. A tool
    /// call does not show that, nor does the hook after it: one step of a model may call several tools. What was printed into another
    /// conversation of the same client, which may have been left in between, stays unproven.
    pub fn call_after_a_step(&self, conversation: &str) -> Call {
        let printed_by_hooks = |state: &State| {
            let mut calls = state.calls_in_flight_by(self.session(), DeliveryMethod::Hook);
            calls.retain(|call| {
                state.is_written(self.session(), *call) && random_ids::is_in(*call, conversation)
            });
            calls
        };
        let printed = self.bus().look(printed_by_hooks).into_iter();
        let received =
            printed.map(|call| Answered { call, answer: Answer::given(), claimed: None });
        Call::new(self.clone(), received.collect()).in_conversation(conversation)
    }
}

impl Call {
    /// Makes the call one of this conversation of a client, of which it is the name.
    #[must_use]
    pub fn in_conversation(mut self, conversation: &str) -> Self {
        self.set_id(random_ids::call_in(conversation));
        self
    }

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
