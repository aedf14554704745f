//! `get_task_status`: the status of a task.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::ids::TaskId;
use crate::mcp::orchestrator_team::OrchestratorTeam;
use crate::mcp::shapes::task_shape::StatusView;
use crate::mcp::{Caller, Effect, Tool, ToolError};

pub(crate) struct GetTaskStatus {
    pub(crate) leading: OrchestratorTeam,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// From `assign_task`.
    task_id: String,
}

impl Tool for GetTaskStatus {
    type Input = Input;
    type Output = StatusView;
    const NAME: &'static str = "get_task_status";
    const EFFECT: Effect = Effect::Reads;
    const DESCRIPTION: &'static str = "See whether a task is queued, running or finished.";

    async fn run(&self, caller: &mut Caller, input: Input) -> Result<StatusView, ToolError> {
        let id = TaskId::parse(&input.task_id)?;
        let team = self.leading.team(caller.membership());
        let task = team.task(&id)?;
        Ok(StatusView::of(&task, &team))
    }
}
