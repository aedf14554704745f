//! `resume_workflow`: continues a workflow whose leader has ended.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::ids::WorkflowId;
use crate::mcp::orchestrator_team::OrchestratorTeam;
use crate::mcp::shapes::workflow_shape::WorkflowView;
use crate::mcp::{Caller, Tool, ToolError};

pub(crate) struct ResumeWorkflow {
    pub(crate) leading: OrchestratorTeam,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// From a notice, or `get_workflow_status`.
    workflow_id: String,
}

impl Tool for ResumeWorkflow {
    type Input = Input;
    type Output = WorkflowView;
    const NAME: &'static str = "resume_workflow";
    const DESCRIPTION: &'static str = "Resume a workflow that was interrupted because its session \
        ended. Finished steps are not repeated.";

    async fn run(&self, caller: &mut Caller, input: Input) -> Result<WorkflowView, ToolError> {
        let id = WorkflowId::parse(&input.workflow_id)?;
        let workflows = self.leading.workflows_of(caller);
        let workflow = workflows.resume(&id).await?;
        Ok(WorkflowView::of(&workflow, workflows.team()))
    }
}
