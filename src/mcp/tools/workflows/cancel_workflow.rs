//! `cancel_workflow`: cancels a workflow, but not its agents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::ids::WorkflowId;
use crate::domain::wait_times;
use crate::domain::workflow::WorkflowStatus;
use crate::mcp::orchestrator_team::OrchestratorTeam;
use crate::mcp::{Caller, Effect, Tool, ToolError};

pub(crate) struct CancelWorkflow {
    pub(crate) leading: OrchestratorTeam,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// From `create_workflow`.
    workflow_id: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The workflow.
    workflow_id: String,
    /// Whether it is cancelled; false while an agent's turn still runs.
    cancelled: bool,
    /// Its status now.
    status: String,
}

impl Tool for CancelWorkflow {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "cancel_workflow";
    const EFFECT: Effect = Effect::Ends;
    const DESCRIPTION: &'static str =
        "Cancel a workflow: no more steps start, and running ones are cancelled. The agents stay.";

    async fn run(&self, caller: &mut Caller, input: Input) -> Result<Output, ToolError> {
        let id = WorkflowId::parse(&input.workflow_id)?;
        let workflow =
            self.leading.workflows_of(caller).cancel(&id, wait_times::CANCEL_ANSWER).await?;
        Ok(Output {
            workflow_id: workflow.id.to_string(),
            cancelled: workflow.status == WorkflowStatus::Cancelled,
            status: workflow.status.as_str().to_owned(),
        })
    }
}
