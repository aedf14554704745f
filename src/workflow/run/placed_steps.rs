//! Steps that wait for other hosts to start their agents: which task each is to be, and until when its host may answer.

use std::collections::BTreeMap;

use tokio::time::Instant;

use super::blocker::{Blocker, Key};
use crate::domain::ids::TaskId;
use crate::domain::name::Name;
use crate::domain::wait_times;
use crate::team::{HostError, Placing, Team};

/// The steps that wait for other hosts.
#[derive(Default)]
pub(crate) struct PlacedSteps(BTreeMap<Key, PlacedStep>);

struct PlacedStep {
    /// The id that its task will have.
    task: TaskId,
    bridge: Name,
    until: Instant,
}

impl PlacedSteps {
    /// Notes that the bridge of a host was asked for the agent of a step. Returns until when it may answer.
    pub(crate) fn note(&mut self, key: Key, task: TaskId, bridge: Name) -> Instant {
        let until = Instant::now() + wait_times::HOST_STARTS;
        self.0.insert(key, PlacedStep { task, bridge, until });
        until
    }

    /// Looks what has become of a step; `None` if no host was asked for it.
    pub(crate) async fn look(&mut self, team: &Team, key: &Key) -> Option<Blocker> {
        let PlacedStep { task, bridge, until } = self.0.get(key)?;
        let blocker = match team.placing(task, bridge) {
            Placing::Waits if Instant::now() < *until => return Some(Blocker::Placed(*until)),
            Placing::Waits => match team.withdraw(task).await {
                Ok(true) => Blocker::of(HostError::Silent { bridge: bridge.clone() }.into()),
                // It was taken up or refused just now, which the next look sees.
                Ok(false) => return Some(Blocker::Busy),
                Err(error) => return Some(error.into()),
            },
            Placing::TakenUp => Blocker::MovedOn,
            // Others have taken the last slot since it was asked.
            Placing::Over(HostError::Refused { .. }) if team.is_full() => Blocker::Busy,
            Placing::Over(error) => Blocker::of(error.into()),
        };
        self.0.remove(key);
        Some(blocker)
    }

    /// Withdraws what hosts were asked for steps that no longer wait for it.
    pub(crate) async fn keep(&mut self, team: &Team, waits: impl Fn(&Key) -> bool) {
        let over: Vec<_> = self.0.keys().filter(|key| !waits(key)).cloned().collect();
        for key in over {
            let Some(PlacedStep { task, bridge, .. }) = self.0.get(&key) else { continue };
            if team.placing(task, bridge) == Placing::Waits
                && let Err(error) = team.withdraw(task).await
            {
                // The host is refused when it takes the step up.
                tracing::debug!("{task} was not withdrawn: {error}");
            }
            self.0.remove(&key);
        }
    }
}
