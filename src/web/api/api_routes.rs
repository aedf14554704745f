//! The paths of the API. Each answers with the `seq` of the last event that it shows, and a part of the read model (docs/view.md).

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::view::{Board, SpentBy};
use crate::web::bus_reader::{NoAnswer, gather_extra};
use crate::web::pages::{Extra, View};
use crate::web::problem::Problem;
use crate::web::routes::found;
use crate::web::server_state::ServerState;
use crate::web::team_snapshot::{BusState, Snapshot};

/// An answer, or what is wrong.
type Answer = Result<Json<Value>, Problem>;

/// Returns the routes, for the path `/api/v1`.
pub(in crate::web) fn api_routes() -> Router<ServerState> {
    Router::new()
        .route("/status", get(status))
        .route("/members", get(members))
        .route("/tasks", get(tasks))
        .route("/tasks/{id}", get(task))
        .route("/requests", get(requests))
        .route("/permissions", get(permissions))
        .route("/workflows", get(workflows))
        .route("/messages", get(messages))
        .route("/threads/{id}", get(thread))
        .route("/usage", get(usage))
        .route("/search", get(search))
        .fallback(unknown)
}

async fn status(State(state): State<ServerState>) -> Answer {
    let board = board(&state).await?;
    Ok(Json(json!(*board)))
}

async fn members(State(state): State<ServerState>) -> Answer {
    let board = board(&state).await?;
    Ok(Json(json!({ "seq": board.seq, "members": board.members })))
}

async fn tasks(State(state): State<ServerState>) -> Answer {
    let board = board(&state).await?;
    Ok(Json(json!({ "seq": board.seq, "tasks": board.tasks })))
}

async fn requests(State(state): State<ServerState>) -> Answer {
    let board = board(&state).await?;
    Ok(Json(json!({ "seq": board.seq, "requests": board.requests })))
}

async fn permissions(State(state): State<ServerState>) -> Answer {
    let board = board(&state).await?;
    Ok(Json(json!({ "seq": board.seq, "permissions": board.permissions })))
}

async fn workflows(State(state): State<ServerState>) -> Answer {
    let board = board(&state).await?;
    Ok(Json(json!({ "seq": board.seq, "workflows": board.workflows })))
}

async fn task(State(state): State<ServerState>, Path(id): Path<String>) -> Answer {
    let view = View::Task(id);
    let task = extra(&state, view, None).await?.task.ok_or_else(|| {
        Problem::new(
            StatusCode::NOT_FOUND,
            "no-such-task",
            "There is no such task, or it ended too long ago",
        )
        .with_hint("`/api/v1/tasks` lists the tasks")
    })?;
    Ok(Json(json!(task)))
}

/// Which messages to return.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WhichMessages {
    /// Those before this seq, a page of them.
    before: Option<u64>,
    /// Of the last messages, those after this seq.
    after: Option<u64>,
}

async fn messages(
    State(state): State<ServerState>,
    which: Result<Query<WhichMessages>, axum::extract::rejection::QueryRejection>,
) -> Answer {
    let Query(which) = which.map_err(|error| wrong_query(&error.body_text()))?;
    let snapshot = snapshot(&state).await?;
    let seq = snapshot.seq();
    match (which.before, which.after) {
        (Some(_), Some(_)) => Err(wrong_query("`before` and `after` do not go together")),
        (Some(before), None) => {
            let older = extra(&state, View::Conversation, Some(before)).await?.older;
            let older = older.unwrap_or_default();
            Ok(Json(json!({ "seq": seq, "messages": older.letters, "has_more": older.has_more })))
        }
        (None, after) => {
            let after = after.unwrap_or_default();
            let letters = snapshot.letters.iter().filter(|letter| letter.seq > after);
            let letters: Vec<_> = letters.collect();
            // The snapshot has the last messages alone.
            let first = snapshot.letters.first().map_or(0, |letter| letter.seq);
            Ok(Json(json!({ "seq": seq, "messages": letters, "has_more": after + 1 < first })))
        }
    }
}

async fn thread(State(state): State<ServerState>, Path(id): Path<String>) -> Answer {
    let letters = extra(&state, View::Thread(id), None).await?.thread;
    if letters.is_empty() {
        let problem = Problem::new(
            StatusCode::NOT_FOUND,
            "no-such-thread",
            "No message is in that thread, or about that request or task",
        );
        return Err(problem.with_hint("`/api/v1/messages` names the thread of each message"));
    }
    Ok(Json(json!({ "messages": letters })))
}

/// How to sum up.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WhichUsage {
    by: Option<String>,
}

async fn usage(
    State(state): State<ServerState>,
    which: Result<Query<WhichUsage>, axum::extract::rejection::QueryRejection>,
) -> Answer {
    let Query(which) = which.map_err(|error| wrong_query(&error.body_text()))?;
    let by = match which.by.as_deref() {
        None | Some("agent") => SpentBy::Agent,
        Some("profile") => SpentBy::Profile,
        Some("day") => SpentBy::Day,
        Some(_) => return Err(wrong_query("`by` is agent, profile or day")),
    };
    let rows = extra(&state, View::Usage(by), None).await?.usage;
    Ok(Json(json!({ "usage": rows })))
}

/// What to search for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WhichWords {
    q: String,
}

async fn search(
    State(state): State<ServerState>,
    which: Result<Query<WhichWords>, axum::extract::rejection::QueryRejection>,
) -> Answer {
    let Query(which) = which.map_err(|error| wrong_query(&error.body_text()))?;
    let found = found(&state, which.q).await;
    match found.trouble {
        Some(trouble) => Err(wrong_query(&trouble)),
        None => Ok(Json(json!({ "hits": found.hits, "has_more": found.has_more }))),
    }
}

async fn unknown() -> Response {
    let problem = Problem::new(StatusCode::NOT_FOUND, "no-such-path", "The API has no such path");
    problem.with_hint("docs/api.md lists the paths").into_response()
}

fn wrong_query(why: &str) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "wrong-query", "The query is wrong").with_detail(why)
}

async fn board(state: &ServerState) -> Result<Arc<Board>, Problem> {
    let snapshot = snapshot(state).await?;
    match &snapshot.board {
        Some(board) => Ok(Arc::clone(board)),
        None => Err(no_bus(&snapshot.bus)),
    }
}

async fn snapshot(state: &ServerState) -> Result<Arc<Snapshot>, Problem> {
    let snapshot = state.reader.snapshot().await.map_err(no_answer)?;
    if snapshot.board.is_none() { Err(no_bus(&snapshot.bus)) } else { Ok(snapshot) }
}

/// Reads what a view needs besides the snapshot.
async fn extra(state: &ServerState, view: View, before: Option<u64>) -> Result<Extra, Problem> {
    state.reader.ask(move |bus| gather_extra(bus, &view, before)).await.map_err(no_answer)
}

fn no_answer(why: NoAnswer) -> Problem {
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
