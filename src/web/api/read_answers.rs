//! What the reading paths answer with: each the `seq` of the last event that it shows, and a part of the read model (docs/view.md).

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::search::SearchHit;
use crate::view::{
    Board, ConflictRow, Decided, Letter, MemberRow, PermissionRow, RequestRow, TaskRow, UsageRow,
    WorkflowTree,
};
use crate::web::bus_reader::NoAnswer;
use crate::web::gate::ExpensiveRead;
use crate::web::pages::{Extra, View};
use crate::web::problem::Problem;
use crate::web::programs::Program;
use crate::web::server_state::ServerState;
use crate::web::team_snapshot::{BusState, Snapshot};

#[derive(Serialize, JsonSchema)]
pub(super) struct Members {
    pub(super) seq: u64,
    pub(super) members: Vec<MemberRow>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Tasks {
    pub(super) seq: u64,
    pub(super) tasks: Vec<TaskRow>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Requests {
    pub(super) seq: u64,
    pub(super) requests: Vec<RequestRow>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Lanes {
    pub(super) seq: u64,
    pub(super) lanes: Vec<OwnedLane>,
}

/// A lane.
#[derive(Serialize, JsonSchema)]
pub(super) struct OwnedLane {
    /// As it is addressed: `@word`.
    pub(super) lane: String,
    /// The member that owns it.
    pub(super) owner: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Conflicts {
    pub(super) seq: u64,
    /// Those that are not over, oldest first, and then the last that are, newest first.
    pub(super) conflicts: Vec<ConflictRow>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Decisions {
    pub(super) seq: u64,
    /// What was agreed, decided, answered and allowed lately, the last first.
    pub(super) decisions: Vec<Decided>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Permissions {
    pub(super) seq: u64,
    pub(super) permissions: Vec<PermissionRow>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Workflows {
    pub(super) seq: u64,
    pub(super) workflows: Vec<WorkflowTree>,
}

/// Which messages to return.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WhichMessages {
    /// Those before this seq, a page of them.
    pub(super) before: Option<u64>,
    /// Of the last messages, those after this seq.
    pub(super) after: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct MessagePage {
    pub(super) seq: u64,
    /// The oldest first.
    pub(super) messages: Vec<Letter>,
    /// Whether there may be others between these and the ones asked about.
    pub(super) has_more: bool,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Thread {
    /// The oldest first.
    pub(super) messages: Vec<Letter>,
}

/// How to sum up.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WhichUsage {
    /// agent, profile or day; by agent if it is missing.
    pub(super) by: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct UsageSums {
    pub(super) usage: Vec<UsageRow>,
}

/// What to search for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WhichWords {
    /// The words, as `search` takes them.
    pub(super) q: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Hits {
    /// The newest first.
    pub(super) hits: Vec<SearchHit>,
    pub(super) has_more: bool,
}

pub(super) async fn board(state: &ServerState) -> Result<Arc<Board>, Problem> {
    let snapshot = snapshot(state).await?;
    match &snapshot.board {
        Some(board) => Ok(Arc::clone(board)),
        None => Err(no_bus(&snapshot.bus)),
    }
}

pub(super) async fn snapshot(state: &ServerState) -> Result<Arc<Snapshot>, Problem> {
    let snapshot = state.reader.snapshot().await.map_err(no_answer)?;
    if snapshot.board.is_none() { Err(no_bus(&snapshot.bus)) } else { Ok(snapshot) }
}

/// Begins a read that may take the time of a walk over the log, or of a search: one at a time of each key.
pub(super) fn expensive(state: &ServerState, program: &Program) -> Result<ExpensiveRead, Problem> {
    state.expensive_reads.begin(&program.hash).ok_or_else(|| {
        let title = "Another expensive read of this key goes on";
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "one-at-a-time", title)
            .with_hint("wait for the answer to the other one: threads, tasks, older messages, sums and searches")
            .with_retry_after(Duration::from_secs(1))
    })
}

/// Reads what a view needs besides the snapshot.
pub(super) async fn extra(
    state: &ServerState,
    view: View,
    before: Option<u64>,
) -> Result<Extra, Problem> {
    let (extra, _) = state.reader.gather(view, before, None).await.map_err(no_answer)?;
    Ok(extra)
}

pub(super) fn no_answer(why: NoAnswer) -> Problem {
    match why {
        NoAnswer::NoBus(bus) => no_bus(&bus),
        NoAnswer::Late => {
            let title = "The team's bus could not be read in time";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "late", title)
                .with_hint("try again in a moment")
        }
    }
}

fn no_bus(bus: &BusState) -> Problem {
    match bus {
        BusState::Unusable(words) => {
            let title = "The team's bus cannot be used";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unusable-bus", title)
                .with_detail(words.clone())
        }
        BusState::Absent | BusState::Removed | BusState::Open => {
            let title = "There is no team in this project yet";
            Problem::new(StatusCode::NOT_FOUND, "no-team", title)
        }
    }
}
