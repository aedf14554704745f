//! What blocks a step: whether it may go away by itself, or the step has failed.

use std::collections::BTreeMap;

use tokio::time::Instant;

use crate::bus::BusError;
use crate::bus::rules::Refusal;
use crate::bus::storage::LogError;
use crate::domain::ids::WorkflowId;
use crate::domain::name::Name;
use crate::domain::task::error_class;
use crate::domain::wait_times;
use crate::team::TeamError;

/// A step of a workflow.
pub(crate) type Key = (WorkflowId, Name);

/// Since when steps are blocked by something that may go away by itself.
#[derive(Default)]
pub(crate) struct BlockedSince(BTreeMap<Key, Instant>);

impl BlockedSince {
    /// Notes that a step is blocked; returns whether that has lasted so long that the step fails.
    pub(crate) fn note(&mut self, key: Key) -> bool {
        let since = self.0.entry(key).or_insert_with(Instant::now);
        since.elapsed() >= wait_times::STEP_BLOCKED
    }

    /// Says whether a step has been blocked for so long that it fails.
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
    /// Another process has moved the step or the workflow; the next look says what to do.
    MovedOn,
    /// The bus or the agent cannot take it now.
    Busy,
    /// What belongs to it cannot be read or kept now, as it says. What lasts has failed, with this class of error.
    Now(&'static str, String),
    /// It will never begin so: the class of the error, and what it says.
    Never(&'static str, String),
}

/// Something cannot be read that was on the bus, or be stored.
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
    /// Says what it means that an agent was not given a step.
    pub(crate) fn of(error: TeamError) -> Self {
        match error {
            TeamError::Bus(BusError::Refused(refusal)) => match refusal {
                Refusal::UnknownWorkflow { .. }
                | Refusal::WorkflowOver { .. }
                | Refusal::LedByAnother { .. }
                | Refusal::StepElsewhere { .. }
                | Refusal::Left => Self::MovedOn,
                other @ Refusal::TooManyItems { .. } => Self::Never("flow", other.to_string()),
                // An agent that is being stopped is gone soon, and then there is another or none.
                Refusal::QueueFull { .. } | Refusal::Stopping { .. } => Self::Busy,
                other => Self::Never("start", other.to_string()),
            },
            TeamError::Bus(_) => Self::Busy,
            other @ TeamError::UnreadableYes { .. } => {
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
    async fn what_blocks_a_step_fails_it_after_a_minute_without_a_break() {
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
