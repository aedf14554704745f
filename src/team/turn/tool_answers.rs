//! Determines which answers of our own tools an agent can have received: those that were written before its turn showed a sign of
//! them.

use std::collections::BTreeSet;

use super::turn_record::Turn;
use crate::domain::ids::CallId;
use crate::domain::messaging::DeliveryMethod;
use crate::domain::wait_times;
use crate::team::agent::context::AgentContext;

/// Returns the calls of our tools that delivered messages or claimed requests, and whose answers nothing has proven yet.
pub(crate) fn held_by_tools(agent: &AgentContext) -> Vec<CallId> {
    let (bus, session) = (agent.bus(), agent.session());
    if let Err(error) = bus.refresh() {
        // Then a later call proves it, or the end of the turn.
        tracing::debug!("failed to refresh the bus for {}: {error}", agent.name());
    }
    let by_tools = [DeliveryMethod::Pull, DeliveryMethod::Piggyback].into_iter();
    bus.look(|state| {
        let holding = by_tools.flat_map(|method| state.calls_in_flight_by(session, method));
        let claims = state.session(session).map(|agent| agent.unheard.values());
        let calls: BTreeSet<_> = holding.chain(claims.into_iter().flatten().copied()).collect();
        calls.into_iter().collect()
    })
}

/// Returns whether a call has reached its agent, as far as can be known: a tool's call has when its answer was written.
pub(crate) fn is_written(agent: &AgentContext, call: CallId) -> bool {
    let is_open = held_by_tools(agent).contains(&call);
    !is_open || agent.bus().look(|state| state.is_written(agent.session(), call))
}

/// Returns the calls of our tools that the good end of a turn proves and no earlier output did: their answers were written, and the
/// agent can have received them. Not included are calls that failed, whose endpoint died, or for which the agent stopped waiting.
pub(crate) async fn shown_by_tools(agent: &AgentContext, turn: &Turn) -> Vec<CallId> {
    let (bus, session) = (agent.bus(), agent.session());
    let mut calls = held_by_tools(agent);
    calls.retain(|call| turn.can_have_had(*call));
    let mut changes = bus.changes();
    let are_known = || {
        bus.look(|state| {
            let is_open = |call: &CallId| state.holds(session, *call);
            let mut open = calls.iter().filter(|call| is_open(call));
            open.all(|call| state.is_written(session, *call))
        })
    };
    let known = async {
        // An error means that the bus is closed, and with it the turn is over anyway.
        while !are_known() && changes.changed().await.is_ok() {}
    };
    if tokio::time::timeout(wait_times::ANSWER_RECORDED, known).await.is_err() {
        tracing::debug!(
            "the bus did not record in time that an answer to {} was written",
            agent.name()
        );
    }
    calls.retain(|call| bus.look(|state| state.is_written(session, *call)));
    calls
}
