//! Cleans up after dead bridges: it ends the leftover processes of their agents, and records that on the bus.
//!
//! An agent is swept when the bus says that it is dead, or when its bridge is gone and its shim does not end by itself, for example
//! because it was suspended. Processes of agents that this bus does not know are never touched, nor those started for another bus
//! directory: a copied log names the processes of the original.

use std::collections::BTreeMap;

use tokio::time::Instant;

use crate::bus::rules::Operation;
use crate::bus::state::{Run, State};
use crate::domain::env_vars;
use crate::domain::grace_periods;
use crate::domain::ids::SessionId;
use crate::domain::wait_times;
use crate::supervisor::{Remains, end_remains};
use crate::team::error::TeamError;
use crate::team::team_handle::Team;

impl Team {
    /// Sweeps now, and then every minute until it is dropped.
    pub async fn keep_swept(&self) {
        let mut orphaned = BTreeMap::new();
        loop {
            let pause = match self.sweep(&mut orphaned).await {
                Ok(()) if orphaned.is_empty() => wait_times::LOOK_FOR_DEAD_BRIDGES,
                Ok(()) => wait_times::LOOK_AT_LEFT_SHIM,
                Err(error) => {
                    tracing::warn!("failed to clean up after dead bridges: {error}");
                    wait_times::LOOK_FOR_DEAD_BRIDGES
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Sweeps once. `orphaned` holds the agents whose bridge is gone and whose presence is still held, each with the time when that
    /// was first seen.
    async fn sweep(&self, orphaned: &mut BTreeMap<SessionId, Instant>) -> Result<(), TeamError> {
        self.bus().reap_dead_sessions().await?;
        let now = Instant::now();
        let without_bridge = self.bus().look(without_bridge);
        orphaned.retain(|session, _| without_bridge.contains_key(session));
        for session in without_bridge.keys() {
            orphaned.entry(*session).or_insert(now);
        }
        let is_late = |session: &SessionId| {
            let since = orphaned.get(session);
            since.is_some_and(|since| {
                now.duration_since(*since) >= grace_periods::SHIM_WITHOUT_BRIDGE
            })
        };
        let mut dead: BTreeMap<SessionId, Option<Run>> = self.bus().look(|state| {
            let unswept = state.unswept();
            unswept.map(|(id, run)| (id, run.cloned())).collect()
        });
        let late = without_bridge.into_iter().filter(|(id, _)| is_late(id));
        dead.extend(late);
        // The processes of another machine are for its own bridges to end.
        dead.retain(|session, _| self.bus().is_of_this_host(*session));
        if !dead.is_empty() {
            self.end_leftovers(dead).await?;
            // Agents whose shim was killed are dead now.
            self.bus().reap_dead_sessions().await?;
        }
        self.bus().clear_presences()?;
        Ok(())
    }

    /// Ends the leftover processes of an agent that was found dead. Returns whether certainly none is left.
    pub(crate) async fn clean_up_after(&self, session: SessionId) -> Result<bool, TeamError> {
        let unswept = |state: &State| {
            let mut unswept = state.unswept();
            let found = unswept.find(|(id, _)| *id == session);
            found.map(|(_, run)| run.cloned())
        };
        let Some(run) = self.bus().look(unswept) else {
            return Ok(true);
        };
        self.end_leftovers(BTreeMap::from([(session, run)])).await?;
        Ok(self.bus().look(unswept).is_none())
    }

    async fn end_leftovers(&self, dead: BTreeMap<SessionId, Option<Run>>) -> Result<(), TeamError> {
        let boot = self.bus().now().tick.boot;
        let launch = &self.inner.launch;
        let place = launch.place();
        let of_here = |run: &&Run| run.place.is_some() && run.place == place;
        let remains = dead.iter().map(|(session, run)| Remains {
            mark: launch.mark(*session),
            processes: run.iter().filter(of_here).flat_map(|run| processes(run, boot)).collect(),
        });
        let left = end_remains(env_vars::RUN, remains.collect()).await;
        for session in dead.into_keys() {
            match left.get(&launch.mark(session)) {
                // A session that is still live must become dead first; the next sweep finds it again.
                None => drop(self.inner.membership.ask(Operation::Swept(session)).await?),
                Some(pids) => tracing::warn!(
                    %session, ?pids, "failed to kill leftover processes of a dead agent; retrying \
                        in a minute"
                ),
            }
        }
        Ok(())
    }
}

/// Returns the live agents whose bridge is not on the bus any more.
fn without_bridge(state: &State) -> BTreeMap<SessionId, Option<Run>> {
    let live = state.live_sessions().into_iter();
    let orphans = live.filter(|session| {
        let owner = session.owner;
        owner.is_some_and(|owner| state.session(owner).is_none())
    });
    orphans.map(|session| (session.id, session.run.clone())).collect()
}

/// Returns the recorded processes that may still exist. Those of another boot are gone, and a pid without a start time identifies
/// no process.
fn processes(run: &Run, boot: u32) -> Vec<(u32, u64)> {
    let marks = run.shim.iter().chain([&run.agent]);
    let of_now = marks.filter(|_| run.boot == boot);
    of_now.filter_map(|mark| Some((mark.pid, mark.started?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::member::ProcessMark;

    #[test]
    fn a_pid_without_its_start_time_or_of_another_boot_identifies_no_process() {
        let mark = |pid, started| ProcessMark { pid, started };
        let run = Run {
            boot: 1,
            agent: mark(10, Some(5)),
            shim: Some(mark(9, None)),
            acp_session: None,
            place: None,
        };
        assert_eq!(processes(&run, 1), [(10, 5)]);
        assert_eq!(processes(&run, 2), []);
    }
}
