//! `get_agent_status`: the status of all members.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bus::state::{EndedSession, Permission, Session, State};
use crate::domain::member::{MemberKind, Tools};
use crate::domain::time::{Now, Tick, iso8601};
use crate::domain::wait_times;
use crate::mcp::{Caller, Effect, Tool, ToolError};
use crate::view::delivery_words;

pub(crate) struct GetAgentStatus;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Live members, longest-lived first, then those that left in the last 10 minutes.
    agents: Vec<Agent>,
    /// Open permission questions, oldest first. `answer_permission` answers them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    permissions: Vec<Open>,
}

#[derive(Serialize, JsonSchema)]
struct Open {
    /// What to answer with.
    permission_id: String,
    /// Who asks.
    agent: String,
    /// The kind of tool: read, edit, delete, move, search, execute, think, fetch or other.
    kind: String,
    /// What for, in the agent's words.
    title: String,
    /// The paths it names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paths: Vec<String>,
    /// The possible answers: `allow_once`, `allow_always`, `reject`.
    offers: Vec<String>,
    /// When, in UTC.
    asked_at: String,
}

#[derive(Serialize, JsonSchema)]
struct Agent {
    /// Its name.
    name: String,
    /// agent, peer or orchestrator.
    kind: String,
    /// starting, running, idle, waiting, `waiting_permission`, stalled, stuck, stopping, hung or dead.
    status: String,
    /// The task in its turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<String>,
    /// Unread messages.
    messages_pending: usize,
    /// Its own requests still to be completed.
    requests_pending: usize,
    /// How long it has been live, or was.
    uptime_seconds: u64,
    /// Its last activity, in UTC.
    last_activity: String,
    /// Whether it has the bridge's tools: ready or missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'static str>,
    /// How messages reach it, during a turn first: steer, drain, interrupt (only high or urgent ones), piggyback (on its tool results), pull, prompt (wakes it when idle), inject (before its next task).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    delivery: Vec<&'static str>,
    /// Why it left.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Tool for GetAgentStatus {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "get_agent_status";
    const EFFECT: Effect = Effect::Reads;
    const DESCRIPTION: &'static str = "See the health of all members: status, unread messages, \
        last activity, and which ones ended.";

    async fn run(&self, caller: &mut Caller, _input: Input) -> Result<Output, ToolError> {
        caller.bus().reap_dead_sessions().await?;
        let now = caller.bus().now();
        let (agents, permissions) = caller.bus().look(|state| {
            let live = state.live_sessions().into_iter().map(|session| live(state, session, now));
            let departed =
                state.departed().rev().filter(|departed| is_recent(departed, now)).map(dead);
            let open = state.open_permissions();
            let open = open.into_iter().map(open_view);
            (live.chain(departed).collect(), open.collect())
        });
        Ok(Output { agents, permissions })
    }
}

fn live(state: &State, session: &Session, now: Now) -> Agent {
    Agent {
        name: session.name.to_string(),
        kind: session.kind.as_str().to_owned(),
        status: match session.status() {
            _ if !state.open_permissions_of(session.id).is_empty() => "waiting_permission",
            "idle" if session.awaits_tools() => "starting",
            word => word,
        }
        .to_owned(),
        task_id: session.running.clone().map(String::from),
        messages_pending: state.unread(&session.name).count(),
        requests_pending: state.pending_requests(&session.name),
        uptime_seconds: between(session.since, now.tick) / 1000,
        last_activity: iso8601(session.last_ms),
        tools: Some(if session.tools == Tools::Ready { "ready" } else { "missing" }),
        delivery: delivery_words(session),
        reason: None,
    }
}

fn open_view(permission: &Permission) -> Open {
    let offers = permission.offers.iter();
    Open {
        permission_id: permission.id.to_string(),
        agent: permission.question.agent.to_string(),
        kind: permission.question.kind.clone(),
        title: permission.question.title.clone(),
        paths: permission.question.further_paths().cloned().collect(),
        offers: offers.map(|offer| offer.as_str().to_owned()).collect(),
        asked_at: iso8601(permission.asked_ms),
    }
}

fn dead(departed: &EndedSession) -> Agent {
    Agent {
        name: departed.name.to_string(),
        kind: departed.kind.as_str().to_owned(),
        status: "dead".to_owned(),
        task_id: None,
        messages_pending: 0,
        requests_pending: 0,
        uptime_seconds: between(departed.since, departed.at) / 1000,
        last_activity: iso8601(departed.last_ms),
        tools: None,
        delivery: Vec::new(),
        reason: Some(departed.reason()),
    }
}

/// Only the end of an agent is news; other members leave by themselves.
fn is_recent(departed: &EndedSession, now: Now) -> bool {
    departed.kind == MemberKind::Agent
        && departed.at.boot == now.tick.boot
        && between(departed.at, now.tick) <= wait_times::DEPARTED_SHOWN_MS
}

/// Returns the milliseconds between two ticks; ticks of different boots cannot be compared.
fn between(from: Tick, to: Tick) -> u64 {
    if from.boot == to.boot { to.ms.saturating_sub(from.ms) } else { 0 }
}
