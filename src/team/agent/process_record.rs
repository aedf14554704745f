//! Records the processes of an agent on the bus, so that other processes find them when this bridge is dead.

use super::context::AgentContext;
use crate::acp::AcpSessionId;
use crate::bus::BusError;
use crate::bus::event::Runs;
use crate::bus::rules::Operation;
use crate::domain::member::ProcessMark;
use crate::domain::text::redact::Hidden;
use crate::supervisor::Supervised;

/// Records a process that has just been spawned. If the bus does not accept it, the mark in the environment of the processes still
/// identifies them.
pub(crate) async fn record_process(agent: &AgentContext, child: &Supervised) {
    match agent.membership.ask(of_process(agent, child, None)).await {
        Ok(_) | Err(BusError::Refused(_)) => {}
        Err(error) => tracing::warn!("failed to record the processes of an agent: {error}"),
    }
}

/// Returns the operation that records a process with its ACP session.
pub(crate) fn of_session(
    agent: &AgentContext,
    child: &Supervised,
    session: &AcpSessionId,
) -> Operation {
    let id = session.written(&agent.secrets);
    if id.is_none() {
        let name = agent.name();
        // The id stays in memory, so the conversation survives a crash of the agent, but not its departure.
        tracing::warn!(
            "the session id of {name} contains one of its keys or tokens, so it is not stored. Once {name} has left, its \
             conversation cannot be resumed"
        );
    }
    of_process(agent, child, id)
}

fn of_process(agent: &AgentContext, child: &Supervised, acp_session: Option<Hidden>) -> Operation {
    let mark = |(pid, started)| ProcessMark { pid, started };
    Operation::Runs(Box::new(Runs {
        session: agent.session(),
        agent: mark((child.pid(), child.start_time())),
        shim: child.shim().map(mark),
        acp_session: acp_session.map(Hidden::into),
        place: agent.launch.place(),
    }))
}
