//! Frees a slot for one more agent when the limit of live agents is reached, by retiring an idle agent that was started for
//! workflow steps.

use crate::bus::rules::Operation;
use crate::bus::state::{Session, State};
use crate::domain::ids::SessionId;
use crate::domain::member::Activity;
use crate::domain::time::Now;
use crate::team::error::TeamError;
use crate::team::team_handle::Team;

/// How long a message may take to wake an idle agent, in milliseconds: the wake is immediate, and the turn begins a moment later. A
/// message that is unread for longer could not be delivered.
const WAKING_MS: i64 = 10_000;

/// The reason in the stop request for a retired agent.
const REASON: &str = "its slot is needed for a workflow step";

/// Whether a slot for one more agent will become free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentSlot {
    /// As soon as an agent has ended or is idle.
    Soon,
    /// Only when an agent is stopped by request.
    Never,
}

impl Team {
    /// Frees a slot by retiring an idle agent gracefully, or returns whether a slot may become free later.
    ///
    /// Never retires an agent with a chosen name (also if a plan chose it), with tasks other than workflow steps, or with anything
    /// pending. An agent that a host has started for steps of this member counts as one of its own. Of several candidates it retires the one idle for longest, and none while another is stopping.
    pub async fn free_a_slot(&self) -> Result<AgentSlot, TeamError> {
        self.bus().refresh()?;
        let me = self.inner.membership.session();
        let root = self.inner.launch.ground.to_string_lossy();
        let now = self.bus().now();
        let (spare, is_work) = self.bus().look(|state| {
            let mut mine = state.live_sessions();
            mine.retain(|live| live.owner == Some(me) || self.did_own_steps(state, live));
            let works = mine.iter().any(|live| has_work(state, live, now));
            if mine.iter().any(|live| live.stop.is_some()) {
                return (None, true);
            }
            let in_root = |live: &Session| {
                live.owner != Some(me) || live.cwd.as_deref() == Some(root.as_ref())
            };
            mine.retain(|live| in_root(live) && self.can_retire(state, live));
            let spare = mine.into_iter().min_by_key(|live| live.last_ms);
            (spare.map(|live| live.name.clone()), works)
        });
        match spare {
            Some(agent) => {
                tracing::info!("retiring `{agent}` to free a slot for a workflow step");
                self.shutdown_agent(agent.as_str(), Some(REASON.to_owned())).await?;
                Ok(AgentSlot::Soon)
            }
            None if is_work => Ok(AgentSlot::Soon),
            None => Ok(AgentSlot::Never),
        }
    }

    /// Kills the agents that were started for workflow steps and do not end their turns. Others replace them.
    pub async fn end_stuck(&self) {
        let me = self.inner.membership.session();
        let stuck: Vec<_> = self.bus().look(|state| {
            let mine = state.live_sessions().into_iter();
            let stuck = mine.filter(|live| {
                live.owner == Some(me)
                    && live.running.is_none()
                    && live.stuck
                    && live.stop.is_none()
                    && self.is_for_steps(state, live)
            });
            stuck.map(|live| live.name.to_string()).collect()
        });
        for agent in stuck {
            tracing::info!("killing `{agent}`, which does not end its turn");
            let kill = Operation::Stop { agent, reason: None, kill: true };
            if let Err(error) = self.inner.membership.ask(kill).await {
                // It may have ended meanwhile; else the next look tries again.
                tracing::debug!("failed to kill a stuck agent: {error}");
            }
        }
    }

    fn can_retire(&self, state: &State, live: &Session) -> bool {
        state.is_at_rest(live) && self.is_for_steps(state, live)
    }

    /// Returns whether an agent was started for workflow steps, and no plan names this particular agent.
    fn is_for_steps(&self, state: &State, live: &Session) -> bool {
        let is_profile = self.config().profile(live.name.as_str()).is_ok();
        state.is_generated_name(&live.name)
            && did_only_steps(state, live.id)
            && (is_profile || !is_named_by_a_plan(state, live))
    }
}

/// Returns whether an agent has work after which it may be idle.
fn has_work(state: &State, live: &Session, now: Now) -> bool {
    let now_ms = state.ran_to_ms(now);
    let waking = |sent_ms: i64| now_ms.saturating_sub(sent_ms) < WAKING_MS;
    // A turn whose task was abandoned may never end.
    if live.stuck && live.stop.is_none() {
        return false;
    }
    live.stop.is_some()
        || live.activity != Activity::Idle
        || live.running.is_some()
        || !live.queue.is_empty()
        || !live.in_flight.is_empty()
        || state.unread(&live.name).any(|message| waking(message.sent_ms))
}

fn did_only_steps(state: &State, session: SessionId) -> bool {
    state.tasks_of(session).all(|task| task.workflow.is_some())
}

/// Returns whether an unfinished step names this particular agent.
fn is_named_by_a_plan(state: &State, live: &Session) -> bool {
    let running = state.workflows().into_iter();
    let running = running.filter(|workflow| !workflow.status.is_final());
    let mut open =
        running.flat_map(|workflow| &workflow.steps).filter(|step| !step.status.is_final());
    open.any(|step| step.planned_agent().eq_ignore_ascii_case(live.name.as_str()))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::bus::Bus;
    use crate::bus::storage::in_memory::Store;
    use crate::sys::clock;

    #[tokio::test]
    async fn a_message_wakes_for_a_while_of_monotonic_time_whatever_the_clock_says() {
        let time = Arc::new(Mutex::new(clock::now()));
        let shown = Arc::clone(&time);
        let store = Store::new(Arc::new(move || *shown.lock().unwrap()));
        let bus = Bus::open(Box::new(store.log())).unwrap();
        let (ann, bob) = (bus.join_peer("ann").await, bus.join_peer("bob").await);
        let mut call = ann.call();
        call.send("bob".into(), "hello".into(), None).await.unwrap();
        let works = || {
            let now = bus.now();
            bus.look(|state| has_work(state, state.session(bob.session()).unwrap(), now))
        };
        assert!(works());
        time.lock().unwrap().wall_ms += 60 * 60 * 1000;
        assert!(works(), "the clock was set");
        let waking_ms = WAKING_MS.unsigned_abs();
        time.lock().unwrap().tick.ms += waking_ms;
        assert!(!works(), "it could not be delivered");
        bus.close().await;
    }
}
