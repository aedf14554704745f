//! `list_agents`: the live members, and what each is doing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bus::state::Session;
use crate::domain::time::Tick;
use crate::mcp::{Caller, Effect, Tool, ToolError};

pub(crate) struct ListAgents;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// All live members, longest-lived first.
    agents: Vec<Agent>,
}

#[derive(Serialize, JsonSchema)]
struct Agent {
    /// The name to send to.
    name: String,
    /// agent, peer or orchestrator.
    kind: &'static str,
    /// running, idle, or waiting for a message.
    status: &'static str,
    /// The model it uses, or unknown.
    model: String,
    /// The task it works on.
    #[serde(skip_serializing_if = "Option::is_none")]
    current_task: Option<String>,
    /// How long it has been live.
    uptime_seconds: u64,
    /// Whether this is you.
    #[serde(skip_serializing_if = "Option::is_none")]
    you: Option<bool>,
}

impl Tool for ListAgents {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "list_agents";
    const EFFECT: Effect = Effect::Reads;
    const DESCRIPTION: &'static str =
        "List your live team-mates, what each is doing, and which one is you.";

    async fn run(&self, caller: &mut Caller, _input: Input) -> Result<Output, ToolError> {
        caller.bus().reap_dead_sessions().await?;
        let now = caller.bus().now().tick;
        let me = caller.membership().session();
        let agents = caller.bus().look(|state| {
            let sessions = state.live_sessions().into_iter();
            sessions
                .filter(|session| !session.hung || session.id == me)
                .map(|session| Agent {
                    you: (session.id == me).then_some(true),
                    ..agent(session, now)
                })
                .collect()
        });
        Ok(Output { agents })
    }
}

fn agent(session: &Session, now: Tick) -> Agent {
    let uptime_ms = if session.since.boot == now.boot {
        now.ms.saturating_sub(session.since.ms)
    } else {
        0 // Ticks of different boots cannot be compared.
    };
    Agent {
        name: session.name.to_string(),
        kind: session.kind.as_str(),
        status: match session.status() {
            word @ ("idle" | "waiting") => word,
            // Starting and stopping matter to the orchestrator only; to a team-mate both mean that the agent is busy.
            _ => "running",
        },
        model: session.model.clone().unwrap_or_else(|| "unknown".into()),
        current_task: session.running.clone().map(String::from),
        uptime_seconds: uptime_ms / 1000,
        you: None,
    }
}
