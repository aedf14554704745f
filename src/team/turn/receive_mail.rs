//! Receives unread messages for an agent's model, and settles them as seen or not.

use crate::bus::rules::Operation;
use crate::bus::{BusError, LoadedMessage};
use crate::delivery::methods::{before_task, wake_idle};
use crate::delivery::thread_context::Earlier;
use crate::domain::ids::CallId;
use crate::domain::messaging::DeliveryMethod;
use crate::team::agent::context::AgentContext;
use crate::team::agent::pending_writes::Unwritten;

/// Unread messages that were received for the model.
#[derive(Default)]
pub(crate) struct ReceivedMail {
    pub(crate) messages: Vec<LoadedMessage>,
    /// What the model does not know of their threads.
    pub(crate) earlier: Earlier,
    /// How many unread messages are left.
    pub(crate) more: usize,
    /// Whether the texts of some of these cannot be read now.
    pub(crate) failed: bool,
}

impl ReceivedMail {
    /// Reads what a model whose conversation began at that number of the log does not know of the threads of its messages.
    pub(crate) async fn read_earlier(&mut self, agent: &AgentContext, began_seq: u64) {
        let headers: Vec<_> = self.messages.iter().map(|message| message.header.clone()).collect();
        if headers.iter().all(|message| message.thread == message.id) {
            return;
        }
        let (bus, reader) = (agent.bus().clone(), agent.name().clone());
        let reading = move || Earlier::of(&bus, &reader, &headers, began_seq);
        self.earlier = tokio::task::spawn_blocking(reading).await.unwrap_or_default();
    }
}

/// Receives unread messages whose texts can be read. Messages that the bus cannot deliver now stay unread.
pub(crate) async fn receive(
    agent: &AgentContext,
    unwritten: &mut Unwritten,
    call: CallId,
    method: DeliveryMethod,
) -> ReceivedMail {
    let (bus, session) = (agent.bus(), agent.session());
    if let Err(error) = bus.refresh() {
        tracing::warn!("failed to refresh the bus for {}: {error}", agent.name());
    }
    let pick = match method {
        DeliveryMethod::Prompt => wake_idle::pick(agent.profile.prompt_bytes.value),
        _ => before_task::pick(),
    };
    let readable = bus.readable(session, &pick, &[]);
    let pick = readable.pick(pick);
    let take = Operation::Take { session, call, method, pick };
    if !readable.is_empty() {
        match agent.membership.ask(take).await {
            Ok(_) => {}
            Err(BusError::Refused(_)) => return ReceivedMail::default(),
            Err(error) => {
                tracing::warn!("failed to receive messages for a prompt: {error}");
                // The delivery may be on the bus, although its messages are not shown.
                settle(agent, unwritten, call, false).await;
                return ReceivedMail { failed: true, ..ReceivedMail::default() };
            }
        }
    }
    let failed = readable.failed.is_some();
    bus.look(|state| ReceivedMail {
        more: state.unread(agent.name()).count(),
        messages: readable.delivered(state, session, call),
        earlier: Earlier::default(),
        failed,
    })
}

/// Returns whether there are unread messages. Without any, nothing needs to be written.
pub(crate) fn has_unread(agent: &AgentContext) -> bool {
    let bus = agent.bus();
    if let Err(error) = bus.refresh() {
        tracing::warn!("failed to refresh the bus for {}: {error}", agent.name());
        return false;
    }
    bus.look(|state| state.unread(agent.name()).next().is_some())
}

/// Records whether the model has seen what a call delivered. Unseen messages are requeued.
pub(crate) async fn settle(
    agent: &AgentContext,
    unwritten: &mut Unwritten,
    call: CallId,
    seen: bool,
) {
    let session = agent.session();
    unwritten.record(&agent.membership, Operation::Settle { session, call, seen }).await;
}
