//! `get_task_result`: the result of a task, or its output so far.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::ids::TaskId;
use crate::mcp::orchestrator_team::OrchestratorTeam;
use crate::mcp::shapes::task_shape::{ResultView, output_bytes, take_notice};
use crate::mcp::{Caller, Effect, Tool, ToolError};

pub(crate) struct GetTaskResult {
    pub(crate) leading: OrchestratorTeam,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// From `assign_task`.
    task_id: String,
    /// Where to begin, in bytes: `next_offset` of the previous part.
    #[serde(default)]
    #[schemars(with = "Option<i64>")]
    offset: Option<usize>,
    /// Most bytes to return; default and limit 36864.
    #[serde(default)]
    #[schemars(with = "Option<i64>")]
    max_bytes: Option<usize>,
    /// Where to begin in the lists of files and failed calls: `next_list_offset` of the previous part.
    #[serde(default)]
    #[schemars(with = "Option<i64>")]
    list_offset: Option<usize>,
}

impl Tool for GetTaskResult {
    type Input = Input;
    type Output = ResultView;
    const NAME: &'static str = "get_task_result";
    const EFFECT: Effect = Effect::Reads;
    const DESCRIPTION: &'static str = "Read a task's result: the agent's output (also while it \
        runs), errors, changed files and cost. Long output comes in parts: continue at \
        next_offset.";

    async fn run(&self, caller: &mut Caller, input: Input) -> Result<ResultView, ToolError> {
        let id = TaskId::parse(&input.task_id)?;
        let max = output_bytes(input.max_bytes)?;
        let team = self.leading.team(caller.membership());
        let output = team.output(&id, input.offset.unwrap_or(0), max).await?;
        take_notice(caller, &output).await;
        Ok(ResultView::of(output, input.list_offset.unwrap_or(0), &team))
    }
}
