//! `get_task_result`: what came of a task, or what its agent has said so far.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::ids::TaskId;
use crate::mcp::orchestrator_team::OrchestratorTeam;
use crate::mcp::shapes::task_shape::{ResultView, output_bytes, take_notice};
use crate::mcp::{Caller, Tool, ToolError};

pub(crate) struct GetTaskResult {
    pub(crate) leading: OrchestratorTeam,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// From `assign_task`.
    task_id: String,
    /// Where to begin, in bytes: `next_offset` of the part before.
    #[serde(default)]
    #[schemars(with = "Option<i64>")]
    offset: Option<usize>,
    /// How much at the most; default and limit 36864.
    #[serde(default)]
    #[schemars(with = "Option<i64>")]
    max_bytes: Option<usize>,
    /// Where to begin in the lists of files and failed calls: `next_list_offset` of the part before.
    #[serde(default)]
    #[schemars(with = "Option<i64>")]
    list_offset: Option<usize>,
}

impl Tool for GetTaskResult {
    type Input = Input;
    type Output = ResultView;
    const NAME: &'static str = "get_task_result";
    const DESCRIPTION: &'static str = "Read what came of a task: what the agent said, also while it runs, what went wrong, which files changed, and \
        the cost. A long output comes in parts: go on at next_offset.";

    async fn run(&self, caller: &mut Caller, input: Input) -> Result<ResultView, ToolError> {
        let id = TaskId::parse(&input.task_id)?;
        let max = output_bytes(input.max_bytes)?;
        let team = self.leading.team(caller.membership());
        let output = team.output(&id, input.offset.unwrap_or(0), max).await?;
        take_notice(caller, &output).await;
        Ok(ResultView::of(output, input.list_offset.unwrap_or(0), &team))
    }
}
