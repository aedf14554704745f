//! `shutdown_agent`: ends an agent gracefully.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::orchestrator_team::OrchestratorTeam;
use crate::mcp::{Caller, Tool, ToolError};

pub(crate) struct ShutdownAgent {
    pub(crate) leading: OrchestratorTeam,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Its name.
    agent: String,
    /// Why, for the agent.
    reason: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The stop has begun; the agent is gone within 30 s.
    acknowledged: bool,
}

impl Tool for ShutdownAgent {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "shutdown_agent";
    const DESCRIPTION: &'static str = "Stop an agent gracefully: a running turn gets 20 s to end, \
        queued tasks are returned as cancelled.";

    async fn run(&self, caller: &mut Caller, input: Input) -> Result<Output, ToolError> {
        let team = self.leading.team(caller.membership());
        team.shutdown_agent(&input.agent, input.reason).await?;
        Ok(Output { acknowledged: true })
    }
}
