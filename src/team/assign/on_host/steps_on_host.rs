//! Agents that hosts have started for steps of workflows: who uses them again, and when they end.

use super::find_host::Bridge;
use crate::bus::state::{Session, State, Task};
use crate::domain::name::Name;
use crate::team::team_handle::Team;

/// The reason in the stop request for an agent that has nothing more to do.
const REASON: &str = "the workflows whose steps it did are over";

impl Team {
    /// Says whether as many agents live as the team may have.
    pub fn is_full(&self) -> bool {
        self.bus().look(|state| state.live_agents() >= state.limits().agents)
    }

    /// Finds an idle agent of a profile on a host that has done nothing but steps of this member's workflows.
    pub fn free_on_host(&self, bridge: &Bridge, profile: &str) -> Option<Name> {
        self.bus().look(|state| {
            let is_free = |live: &&Session| {
                live.owner == Some(bridge.session)
                    && live.profile.as_deref() == Some(profile)
                    && live.stop.is_none()
                    && !live.stuck
                    && live.running.is_none()
                    && live.queue.is_empty()
                    && self.did_own_steps(state, live)
            };
            state.live_sessions().into_iter().find(is_free).map(|free| free.name.clone())
        })
    }

    /// Says whether an agent of a host, with a generated name, has done nothing but steps of this member's workflows.
    pub(in crate::team::assign) fn did_own_steps(&self, state: &State, live: &Session) -> bool {
        let me = self.inner.membership.name();
        live.owner.is_some_and(|owner| state.offer_of(owner).is_some())
            && did_only(state, live, |task| task.by == *me)
    }

    /// Ends the agents of this host that have done nothing but steps of workflows which are over, once whoever led these has left. Says
    /// whether there are others that have done only steps.
    pub(super) async fn end_agents_of_old_steps(&self) -> bool {
        let me = self.inner.membership.session();
        let (over, others) = self.bus().look(|state| {
            let is_over = |task: &Task| {
                let workflow = task.workflow.as_ref().and_then(|id| state.workflow(id));
                workflow.is_none_or(|workflow| workflow.status.is_final())
                    && state.live(&task.by).is_none()
            };
            let mut mine = state.live_sessions();
            mine.retain(|live| live.owner == Some(me) && did_only(state, live, |_| true));
            let (over, others): (Vec<_>, Vec<_>) = mine
                .into_iter()
                .partition(|live| state.is_at_rest(live) && did_only(state, live, is_over));
            let over: Vec<_> = over.iter().map(|live| live.name.clone()).collect();
            (over, others.len())
        });
        for agent in over {
            let ended = self.shutdown_agent(agent.as_str(), Some(REASON.to_owned())).await;
            if let Err(error) = ended {
                // The next look tries again.
                tracing::debug!("`{agent}` was not ended: {error}");
            }
        }
        others > 0
    }
}

/// Says whether an agent with a generated name has done steps of workflows, and only such.
fn did_only(state: &State, live: &Session, is_such: impl Fn(&Task) -> bool) -> bool {
    let mut tasks = state.tasks_of(live.id).peekable();
    state.is_generated_name(&live.name)
        && tasks.peek().is_some()
        && tasks.all(|task| task.workflow.is_some() && is_such(task))
}
