//! `cancel_task`: cancels a task, but not its agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::ids::TaskId;
use crate::domain::task::TaskStatus;
use crate::domain::wait_times;
use crate::mcp::orchestrator_team::OrchestratorTeam;
use crate::mcp::{Caller, Effect, Tool, ToolError};
use crate::view::task_status;

pub(crate) struct CancelTask {
    pub(crate) leading: OrchestratorTeam,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// From `assign_task`.
    task_id: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The task.
    task_id: String,
    /// Whether it is cancelled; false while the agent's turn still runs.
    cancelled: bool,
    /// Its status now.
    status: String,
}

impl Tool for CancelTask {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "cancel_task";
    const EFFECT: Effect = Effect::Ends;
    const DESCRIPTION: &'static str = "Cancel a task. Its agent stays, ready for the next one.";

    async fn run(&self, caller: &mut Caller, input: Input) -> Result<Output, ToolError> {
        let id = TaskId::parse(&input.task_id)?;
        let team = self.leading.team(caller.membership());
        team.cancel_task(&id, wait_times::CANCEL_ANSWER).await?;
        let task = team.task(&id)?;
        Ok(Output {
            task_id: task.id.to_string(),
            cancelled: task.status == TaskStatus::Cancelled,
            status: team.bus().look(|state| task_status(state, &task)).to_owned(),
        })
    }
}
