//! Cancels a task or a workflow.

use std::time::{Duration, Instant};

use super::act_outcome::seconds;
use super::{Ended, Outcome, Patience, Steering};
use crate::bus::rules::HumanWish;
use crate::bus::state::State;
use crate::cli::Failure;
use crate::domain::grace_periods;
use crate::domain::ids::{SessionId, TaskId, WorkflowId};

/// An agent may take a while to end its turn, and its bridge to record that.
const LIMIT: Duration = grace_periods::CANCEL.saturating_add(grace_periods::LAST_APPEND);

impl Steering {
    /// Cancels a task. Its agent stays.
    pub(crate) async fn cancel_task(
        &self,
        id: &TaskId,
        patience: Patience,
    ) -> Result<Outcome, Failure> {
        let begun = Instant::now();
        self.wish(HumanWish::CancelTask(id.clone())).await?;
        let agent = self.look(|state| {
            let task = state.task(id)?;
            Some((task.agent.clone(), state.session(task.session).and_then(|agent| agent.owner)))
        });
        let ended = self.ended(patience, |state| {
            let status = state.task(id)?.status;
            status.is_final().then_some((status.as_str(), status.phrase()))
        });
        let holds = agent.as_ref().map(|(agent, _)| format!("holds `{agent}`"));
        let bridge = (agent.and_then(|(_, bridge)| bridge), holds.unwrap_or_default());
        let ended = ended.await?;
        Ok(self.cancelled(&id.to_string(), ended, bridge, (begun, patience)))
    }

    /// Cancels a workflow with its running tasks.
    pub(crate) async fn cancel_workflow(
        &self,
        id: &WorkflowId,
        patience: Patience,
    ) -> Result<Outcome, Failure> {
        let begun = Instant::now();
        self.wish(HumanWish::CancelWorkflow(id.clone())).await?;
        let leader = self.look(|state| state.workflow(id).and_then(|workflow| workflow.owner));
        let ended = self.ended(patience, |state| {
            let status = state.workflow(id)?.status;
            status.is_final().then_some((status.as_str(), status.phrase()))
        });
        let ended = ended.await?;
        let bridge = (leader, "leads it".to_owned());
        Ok(self.cancelled(&id.to_string(), ended, bridge, (begun, patience)))
    }

    /// Waits for the end of some work; without patience it looks once.
    async fn ended<T>(
        &self,
        patience: Patience,
        find: impl FnMut(&State) -> Option<T>,
    ) -> Result<Option<T>, Failure> {
        let limit = if patience == Patience::None { Duration::ZERO } else { LIMIT };
        self.until(limit, find).await
    }

    fn cancelled(
        &self,
        id: &str,
        ended: Option<(&'static str, &'static str)>,
        (bridge, holds): (Option<SessionId>, String),
        (begun, patience): (Instant, Patience),
    ) -> Outcome {
        let took = begun.elapsed();
        let outcome = match (ended, patience) {
            (Some((status, phrase)), _) => {
                let words = format!("{id} {phrase} after {}", seconds(took));
                Outcome::new("cancel", &id, Ended::Done).saying(status, words)
            }
            (None, Patience::None) => {
                let words = format!("{id} is being cancelled");
                Outcome::new("cancel", &id, Ended::Pending).saying("running", words)
            }
            (None, Patience::Waits) => {
                let why = self.why_silent(bridge, &holds, LIMIT);
                let words = format!("{id} has not ended: {why}");
                Outcome::new("cancel", &id, Ended::Silent).saying("running", words)
            }
        };
        outcome.after(took)
    }
}
