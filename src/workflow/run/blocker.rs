//! What blocks a step, and whether it may pass or the step has failed.

use std::collections::BTreeMap;

use tokio::time::Instant;

use crate::bus::BusError;
use crate::bus::rules::{PlacementRefusal, Refusal};
use crate::bus::storage::LogError;
use crate::domain::ids::WorkflowId;
use crate::domain::name::Name;
use crate::domain::task::error_class;
use crate::domain::text::counted::counted_as;
use crate::domain::wait_times;
use crate::team::TeamError;

/// A step of a workflow.
pub(crate) type Key = (WorkflowId, Name);

/// When steps were blocked by something that may pass.
#[derive(Default)]
pub(crate) struct BlockedSince(BTreeMap<Key, Instant>);

impl BlockedSince {
    /// Notes that a step is blocked; returns whether it has been for so long that it fails.
    pub(crate) fn note(&mut self, key: Key) -> bool {
        let since = self.0.entry(key).or_insert_with(Instant::now);
        since.elapsed() >= wait_times::STEP_BLOCKED
    }

    /// Returns whether a step has been blocked for so long that it fails.
    pub(crate) fn has_lasted(&self, key: &Key) -> bool {
        let since = self.0.get(key);
        since.is_some_and(|since| since.elapsed() >= wait_times::STEP_BLOCKED)
    }

    /// Notes that a step is not blocked any more.
    pub(crate) fn end(&mut self, key: &Key) {
        self.0.remove(key);
    }

    /// Forgets the steps of all other workflows.
    pub(crate) fn retain(&mut self, ids: &[WorkflowId]) {
        self.0.retain(|(id, _), _| ids.contains(id));
    }
}

/// Why a step could not begin now.
pub(crate) enum Blocker {
    /// Another process has changed the step or the workflow; the next look decides.
    MovedOn,
    /// The bus or the agent cannot accept it now.
    Busy,
    /// Another host was asked to start its agent, and may answer until then.
    Placed(Instant),
    /// Its data cannot be read or stored now. If that lasts, the step fails with this class of error and this reason.
    Now(&'static str, String),
    /// It can never begin: the class of the error, and the reason.
    Never(&'static str, String),
}

/// Data of the bus could not be read, or new data not be stored.
impl From<BusError> for Blocker {
    fn from(error: BusError) -> Self {
        match error {
            BusError::Log(LogError::Gone) => {
                Self::Never(error_class::BUS, error.message_for_model())
            }
            other => Self::Now(error_class::BUS, other.message_for_model()),
        }
    }
}

impl Blocker {
    /// Classifies the error when a step could not be assigned to an agent.
    pub(crate) fn of(error: TeamError) -> Self {
        match error {
            TeamError::Bus(BusError::Refused(refusal)) => match refusal {
                Refusal::UnknownWorkflow { .. }
                | Refusal::WorkflowOver { .. }
                | Refusal::LedByAnother { .. }
                | Refusal::StepElsewhere { .. }
                | Refusal::Left => Self::MovedOn,
                other @ Refusal::TooManyItems { .. } => Self::Never("flow", other.to_string()),
                // Its own words are for a model that assigns a task.
                Refusal::TooManyAgents { limit } => Self::Never(
                    error_class::START,
                    format!(
                        "{} live, which is the limit, and none of them makes room: `agents` under \
                         [limits] of the configuration raises it",
                        counted_as(limit, "agent is", "agents are")
                    ),
                ),
                // An agent that is stopping is gone soon, and then another may take the step.
                Refusal::QueueFull { .. }
                | Refusal::Stopping { .. }
                | Refusal::Placement(PlacementRefusal::TooMany { .. }) => Self::Busy,
                other => Self::Never("start", other.to_string()),
            },
            TeamError::Bus(_) => Self::Busy,
            // The reason of a step has more readers than the model of this bridge: its user, too.
            TeamError::Unagreed(consent) => {
                Self::Never(error_class::START, consent.message_for_all())
            }
            other @ TeamError::UnreadableApproval { .. } => {
                Self::Now(error_class::START, other.message_for_model())
            }
            other @ TeamError::Model { .. } => {
                Self::Never(error_class::MODEL, other.message_for_model())
            }
            other => Self::Never("start", other.message_for_model()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_step_fails_after_a_minute_of_being_blocked_without_a_break() {
        let mut blocked = BlockedSince::default();
        let id = WorkflowId::parse("wf-k3j7x2abq5wt").unwrap();
        let key = (id.clone(), Name::parse("a").unwrap());
        assert!(!blocked.note(key.clone()));
        tokio::time::advance(Duration::from_secs(59)).await;
        assert!(!blocked.note(key.clone()) && !blocked.has_lasted(&key));
        tokio::time::advance(Duration::from_secs(1)).await;
        blocked.retain(&[id]);
        assert!(blocked.note(key.clone()) && blocked.has_lasted(&key));
        blocked.end(&key);
        assert!(!blocked.has_lasted(&key) && !blocked.note(key.clone()));
        tokio::time::advance(wait_times::STEP_BLOCKED).await;
        blocked.retain(&[]);
        assert!(!blocked.has_lasted(&key));
    }
}
