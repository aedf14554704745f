//! `approve_step`: passes on a person's decision on a step that needs it to begin.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bus::rules::Approval;
use crate::domain::ids::WorkflowId;
use crate::domain::name::Name;
use crate::domain::workflow::StepOf;
use crate::mcp::orchestrator_team::OrchestratorTeam;
use crate::mcp::{Caller, Tool, ToolError};

pub(crate) struct ApproveStep {
    pub(crate) leading: OrchestratorTeam,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// From the notice.
    workflow_id: String,
    /// The step's name.
    step: String,
    /// What your user says.
    approved: bool,
    /// The reason, if not approved.
    reason: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The workflow.
    workflow_id: String,
    /// The step.
    step: String,
    /// Whether it starts.
    approved: bool,
}

impl Tool for ApproveStep {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "approve_step";
    const DESCRIPTION: &'static str = "Pass on your user's decision on a workflow step that asks \
        for approval. Never decide it yourself.";

    async fn run(&self, caller: &mut Caller, input: Input) -> Result<Output, ToolError> {
        let step = StepOf {
            workflow: WorkflowId::parse(&input.workflow_id)?,
            step: Name::parse(&input.step)?,
        };
        let output = Output {
            workflow_id: step.workflow.to_string(),
            step: step.step.to_string(),
            approved: input.approved,
        };
        let approval =
            if input.approved { Approval::Given } else { Approval::Refused(input.reason) };
        let workflows = self.leading.workflows_of(caller);
        workflows.approve(step, approval).await?;
        Ok(output)
    }
}
