//! `get_workflow_status`: the status of a workflow, step by step; or the list of workflows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bus::state::{State, Workflow};
use crate::domain::ids::WorkflowId;
use crate::mcp::orchestrator_team::OrchestratorTeam;
use crate::mcp::shapes::workflow_shape::WorkflowView;
use crate::mcp::{Caller, Effect, Tool, ToolError};

pub(crate) struct GetWorkflowStatus {
    pub(crate) leading: OrchestratorTeam,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Omit it to list all.
    workflow_id: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The workflow that was asked for.
    #[serde(flatten)]
    workflow: Option<WorkflowView>,
    /// All workflows, the newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    workflows: Option<Vec<ShortView>>,
}

/// A workflow in a list.
#[derive(Serialize, JsonSchema)]
struct ShortView {
    /// The workflow.
    workflow_id: String,
    /// Its name.
    name: String,
    /// running, interrupted, done, failed or cancelled.
    status: String,
    /// How many of its steps have ended.
    over: usize,
    /// How many steps it has.
    steps: usize,
}

impl ShortView {
    fn of(workflow: &Workflow) -> Self {
        let over = workflow.planned();
        let over = over.filter(|step| step.status.is_final()).count();
        Self {
            workflow_id: workflow.id.to_string(),
            name: workflow.name.clone(),
            status: workflow.status.as_str().to_owned(),
            over,
            steps: workflow.planned().count(),
        }
    }
}

impl Tool for GetWorkflowStatus {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "get_workflow_status";
    const EFFECT: Effect = Effect::Reads;
    const DESCRIPTION: &'static str = "See the state of each step of a workflow, with the start of \
        its output; or list all workflows.";

    async fn run(&self, caller: &mut Caller, input: Input) -> Result<Output, ToolError> {
        let workflows = self.leading.workflows_of(caller);
        let Some(id) = input.workflow_id else {
            caller.bus().refresh()?;
            let all = |state: &State| state.workflows().into_iter().map(ShortView::of).collect();
            return Ok(Output { workflow: None, workflows: Some(caller.bus().look(all)) });
        };
        caller.bus().refresh()?;
        let workflow = workflows.find(&WorkflowId::parse(&id)?)?;
        Ok(Output {
            workflow: Some(WorkflowView::of(&workflow, workflows.team())),
            workflows: None,
        })
    }
}
