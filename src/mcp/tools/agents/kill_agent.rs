//! `kill_agent`: ends an agent at once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::wait_times;
use crate::mcp::orchestrator_team::OrchestratorTeam;
use crate::mcp::{CallTimeout, Caller, Effect, Tool, ToolError};

pub(crate) struct KillAgent {
    pub(crate) leading: OrchestratorTeam,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Its name.
    agent: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// It is gone.
    killed: bool,
}

impl Tool for KillAgent {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "kill_agent";
    const EFFECT: Effect = Effect::Ends;
    const DESCRIPTION: &'static str = "Kill an agent and all its processes, if shutdown_agent is \
        not enough. Returns when they are gone.";

    fn patience(&self, _input: &Input) -> CallTimeout {
        CallTimeout::Waits(wait_times::KILL_AGENT)
    }

    async fn run(&self, caller: &mut Caller, input: Input) -> Result<Output, ToolError> {
        let team = self.leading.team(caller.membership());
        team.kill_agent(&input.agent, wait_times::KILL_AGENT).await?;
        Ok(Output { killed: true })
    }
}
