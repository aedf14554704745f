//! `list_agents`: the live members, who they are, and what each is doing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bus::Bus;
use crate::bus::state::{BodyRef, Session, State};
use crate::domain::ids::SessionId;
use crate::domain::limits;
use crate::domain::member::{HostOffer, Label};
use crate::domain::time::Tick;
use crate::mcp::shapes::entry_size::entry_bytes;
use crate::mcp::{Caller, Effect, Tool, ToolError};
use crate::view::doing::Doing;

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
    /// Its session, to send to that alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// agent, peer or orchestrator.
    kind: &'static str,
    /// running, idle, or waiting for a message.
    status: &'static str,
    #[serde(flatten)]
    details: Option<Details>,
    /// The task it works on.
    #[serde(skip_serializing_if = "Option::is_none")]
    current_task: Option<String>,
    /// How long it has been live.
    uptime_seconds: u64,
    /// Whether it leads: what concerns the whole team goes to it, and so does `@lead`.
    #[serde(skip_serializing_if = "Option::is_none")]
    lead: Option<bool>,
    /// Whether this is you.
    #[serde(skip_serializing_if = "Option::is_none")]
    you: Option<bool>,
}

/// Further details of a live member.
#[derive(Serialize, JsonSchema)]
struct Details {
    /// What it is doing; a prompt is quoted.
    #[serde(skip_serializing_if = "Option::is_none")]
    doing: Option<String>,
    /// The profile it was started from.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
    /// What it is for, in its user's words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    roles: Vec<String>,
    /// The part of the work that it says it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    lane: Option<String>,
    /// The requests and lanes that it owns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    holds: Vec<String>,
    /// What it can do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    capabilities: Vec<String>,
    /// What it wants to hear of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    topics: Vec<String>,
    /// The program it works in, if it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    surface: Option<String>,
    /// The model it uses, if it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Where it works.
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    /// The machine on which it runs, on a bus that several share; project files are not carried from one to another.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    /// The profiles of which it starts agents there: `assign_task` with that machine as `host`, or with its name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    starts: Vec<String>,
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
        let now = caller.bus().now();
        let me = caller.membership().session();
        let found: Vec<_> = caller.bus().look(|state| {
            let sessions = state.live_sessions().into_iter();
            sessions
                .filter(|session| !session.hung || session.id == me)
                .map(|session| {
                    let doing = (session.id != me).then(|| Doing::look(state, session, now));
                    let leads = state.is_lead(session.id).then_some(true);
                    let agent = Agent { lead: leads, ..agent(session, now.tick, me) };
                    (agent, details(state, session), doing)
                })
                .collect()
        });
        // Every member is listed. In a team too large for one answer, the youngest ones are listed without details.
        let bare: usize = found.iter().map(|(agent, ..)| entry_bytes(agent)).sum();
        let mut room = caller.membership().answer_room().saturating_sub(bare);
        let mut agents = Vec::new();
        for (agent, details, doing) in found {
            let without = entry_bytes(&agent);
            let doing =
                doing.map(|doing| doing.in_words(|prompt| first_words(caller.bus(), prompt)));
            let mut agent = Agent { details: Some(Details { doing, ..details }), ..agent };
            let more = entry_bytes(&agent) - without;
            match room.checked_sub(more) {
                Some(left) => room = left,
                None => agent.details = None,
            }
            agents.push(agent);
        }
        Ok(Output { agents })
    }
}

/// Reads the beginning of a running task's prompt.
fn first_words(bus: &Bus, prompt: BodyRef) -> Option<String> {
    bus.beginning(prompt, limits::DOING_CHARS).unwrap_or_else(|error| {
        tracing::debug!("failed to read the prompt of a running task: {error}");
        None
    })
}

fn agent(session: &Session, now: Tick, me: SessionId) -> Agent {
    let uptime_ms = if session.since.boot == now.boot {
        now.ms.saturating_sub(session.since.ms)
    } else {
        0 // Ticks of different boots cannot be compared.
    };
    Agent {
        name: session.name.to_string(),
        id: session.number.map(|number| number.to_string()),
        kind: session.kind.as_str(),
        status: match session.status() {
            "idle" if session.awaits_tools() => "running",
            word @ ("idle" | "waiting") => word,
            // Starting and stopping matter to the orchestrator only; to a team-mate both mean that the agent is busy.
            _ => "running",
        },
        details: None,
        current_task: session.running.clone().map(String::from),
        uptime_seconds: uptime_ms / 1000,
        lead: None,
        you: (session.id == me).then_some(true),
    }
}

fn offered(offer: &HostOffer) -> Vec<String> {
    offer.profiles.iter().map(ToString::to_string).collect()
}

fn details(state: &State, session: &Session) -> Details {
    let traits = &session.traits;
    let word = |label: &Option<Label>| label.as_ref().map(|label| label.as_str().to_owned());
    let words = |labels: &[Label]| labels.iter().map(|label| label.as_str().to_owned()).collect();
    Details {
        doing: None,
        profile: session.profile.clone(),
        roles: session.roles.clone(),
        lane: word(&traits.lane),
        holds: state.owned_by(session),
        capabilities: words(&traits.capabilities),
        topics: words(&traits.topics),
        surface: word(&traits.surface),
        model: session.model.clone(),
        cwd: session.cwd.clone(),
        host: state.host_of(session.id).map(|host| host.name.clone()),
        starts: state.offer_of(session.id).map(offered).unwrap_or_default(),
    }
}
