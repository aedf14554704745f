//! Tasks that programs assign to live agents. A program starts no agent: that needs an orchestrator.

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::as_member::as_member;
use super::why_refused::why_not;
use crate::bus::event::Event;
use crate::bus::rules::{NewTask, Operation};
use crate::bus::{Bus, BusError, Membership};
use crate::domain::ids::SessionId;
use crate::domain::limits;
use crate::domain::name::Name;
use crate::web::api::read_request::Given;
use crate::web::problem::Problem;
use crate::web::programs::Program;
use crate::web::server_state::ServerState;

/// Work for a live agent.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::web::api) struct NewAssignment {
    /// The name of a live agent. The task joins its queue.
    agent: String,
    /// What to do. At most 1 MiB.
    prompt: String,
    /// The model to use.
    model: Option<String>,
    /// Whether the agent begins a new conversation.
    #[serde(default)]
    fresh: bool,
}

/// A task that was assigned.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::web::api) struct AssignedTask {
    /// `/api/v1/tasks/ID` shows it; a notice in the inbox reports its end.
    task_id: String,
    /// The agent that has it.
    agent: String,
}

pub(in crate::web::api) async fn assign(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Given(new): Given<NewAssignment>,
) -> Result<(StatusCode, Json<AssignedTask>), Problem> {
    if let Some(model) = &new.model
        && model.len() > limits::MODEL_BYTES
    {
        let title = "The name of the model is too long";
        let problem = Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "wrong-model", title);
        return Err(problem.with_detail(format!("it has at most {} bytes", limits::MODEL_BYTES)));
    }
    let me = as_member(&state, &program).await?;
    let (session, name) = live_agent(&me, &new.agent)?;
    let prompt = Bus::body(new.prompt);
    let (model, fresh) = (new.model, new.fresh);
    // The permissions are those of the agent's profile: no key widens them.
    let task = NewTask { model, fresh, ..NewTask::of(prompt) };
    let assigned = me.ask(Operation::Assign { session, task }).await;
    let assigned = assigned.map_err(|error| why_not(&error))?;
    let id = assigned.events.into_iter().find_map(|event| match event {
        Event::TaskAssigned(assigned) => Some(assigned.id),
        _ => None,
    });
    let task_id = id.ok_or_else(|| why_not(&BusError::Closed))?.to_string();
    Ok((StatusCode::CREATED, Json(AssignedTask { task_id, agent: name.to_string() })))
}

/// Finds the live session of a name. The rules say whether it is an agent.
fn live_agent(me: &Membership, name: &str) -> Result<(SessionId, Name), Problem> {
    me.bus().refresh().map_err(|error| why_not(&error))?;
    let found = me.bus().look(|state| {
        let live = state.live_as(name)?;
        Some((live.id, live.name.clone()))
    });
    found.ok_or_else(|| {
        let title = "There is no live agent of this name";
        Problem::new(StatusCode::NOT_FOUND, "no-such-agent", title)
            .with_hint("`/api/v1/members` lists who is there; an orchestrator starts agents")
    })
}
