//! The handlers of the reading paths.

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::StatusCode;

use super::read_answers::{
    Conflicts, Decisions, Hits, Lanes, Members, MessagePage, OwnedLane, Permissions, Requests,
    Tasks, Thread, UsageSums, WhichMessages, WhichUsage, WhichWords, Workflows, board, expensive,
    extra, snapshot,
};
use super::read_request::{Asked, Named, wrong_query};
use super::taken_back::{readable, readable_hits};
use crate::reader::WholeTask;
use crate::view::{Board, SpentBy};
use crate::web::pages::View;
use crate::web::problem::Problem;
use crate::web::programs::Program;
use crate::web::routes::found;
use crate::web::server_state::ServerState;

/// An answer, or what is wrong.
type Answer<T> = Result<Json<T>, Problem>;

pub(super) async fn status(State(state): State<ServerState>) -> Answer<Board> {
    Ok(Json((*board(&state).await?).clone()))
}

pub(super) async fn members(State(state): State<ServerState>) -> Answer<Members> {
    let board = board(&state).await?;
    Ok(Json(Members { seq: board.seq, members: board.members.clone() }))
}

pub(super) async fn tasks(State(state): State<ServerState>) -> Answer<Tasks> {
    let board = board(&state).await?;
    Ok(Json(Tasks { seq: board.seq, tasks: board.tasks.clone() }))
}

pub(super) async fn requests(State(state): State<ServerState>) -> Answer<Requests> {
    let board = board(&state).await?;
    Ok(Json(Requests { seq: board.seq, requests: board.requests.clone() }))
}

/// Returns who owns which lane: what members hold besides requests.
pub(super) async fn lanes(State(state): State<ServerState>) -> Answer<Lanes> {
    let board = board(&state).await?;
    let lanes = board.members.iter().flat_map(|member| {
        let lanes = member.holds.iter().filter(|held| held.starts_with('@'));
        lanes.map(|lane| OwnedLane { lane: lane.clone(), owner: member.name.clone() })
    });
    Ok(Json(Lanes { seq: board.seq, lanes: lanes.collect() }))
}

pub(super) async fn conflicts(State(state): State<ServerState>) -> Answer<Conflicts> {
    let board = board(&state).await?;
    Ok(Json(Conflicts { seq: board.seq, conflicts: board.conflicts.clone() }))
}

pub(super) async fn decisions(State(state): State<ServerState>) -> Answer<Decisions> {
    let (board, snapshot) = (board(&state).await?, snapshot(&state).await?);
    Ok(Json(Decisions { seq: board.seq, decisions: snapshot.decided.to_vec() }))
}

pub(super) async fn permissions(State(state): State<ServerState>) -> Answer<Permissions> {
    let board = board(&state).await?;
    Ok(Json(Permissions { seq: board.seq, permissions: board.permissions.clone() }))
}

pub(super) async fn workflows(State(state): State<ServerState>) -> Answer<Workflows> {
    let board = board(&state).await?;
    Ok(Json(Workflows { seq: board.seq, workflows: board.workflows.clone() }))
}

pub(super) async fn task(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Named(id): Named,
) -> Answer<WholeTask> {
    let _read = expensive(&state, &program)?;
    let task = extra(&state, View::Task(id), None).await?.task;
    let task = task.ok_or_else(|| {
        Problem::new(
            StatusCode::NOT_FOUND,
            "no-such-task",
            "There is no such task, or it ended too long ago",
        )
        .with_hint("`/api/v1/tasks` lists the tasks")
    })?;
    Ok(Json(task))
}

pub(super) async fn messages(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Asked(which): Asked<WhichMessages>,
) -> Answer<MessagePage> {
    let snapshot = snapshot(&state).await?;
    let seq = snapshot.seq();
    let messages = match (which.before, which.after) {
        (Some(_), Some(_)) => return Err(wrong_query("`before` and `after` do not go together")),
        (Some(before), None) => {
            let _read = expensive(&state, &program)?;
            let older = extra(&state, View::Conversation, Some(before)).await?.older;
            let older = older.unwrap_or_default();
            let messages = older.letters.into_iter().map(readable).collect();
            MessagePage { seq, messages, has_more: older.has_more }
        }
        (None, after) => {
            let after = after.unwrap_or_default();
            let letters = snapshot.letters.iter().filter(|letter| letter.seq > after);
            let messages = letters.cloned().map(readable).collect();
            // The snapshot has the last messages alone.
            let first = snapshot.letters.first().map_or(0, |letter| letter.seq);
            MessagePage { seq, messages, has_more: after < first.saturating_sub(1) }
        }
    };
    Ok(Json(messages))
}

pub(super) async fn thread(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Named(id): Named,
) -> Answer<Thread> {
    let _read = expensive(&state, &program)?;
    let messages = extra(&state, View::Thread(id), None).await?.thread;
    if messages.is_empty() {
        let problem = Problem::new(
            StatusCode::NOT_FOUND,
            "no-such-thread",
            "No message is in that thread, or about that request or task",
        );
        return Err(problem.with_hint("`/api/v1/messages` names the thread of each message"));
    }
    Ok(Json(Thread { messages: messages.into_iter().map(readable).collect() }))
}

pub(super) async fn usage(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Asked(which): Asked<WhichUsage>,
) -> Answer<UsageSums> {
    let by = match which.by.as_deref() {
        None | Some("agent") => SpentBy::Agent,
        Some("profile") => SpentBy::Profile,
        Some("day") => SpentBy::Day,
        Some(_) => return Err(wrong_query("`by` is agent, profile or day")),
    };
    let _read = expensive(&state, &program)?;
    Ok(Json(UsageSums { usage: extra(&state, View::Usage(by), None).await?.usage }))
}

pub(super) async fn search(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Asked(which): Asked<WhichWords>,
) -> Answer<Hits> {
    let read = expensive(&state, &program)?;
    let found = found(&state, which.q, read).await;
    if let Some(trouble) = found.trouble {
        return Err(wrong_query(&trouble));
    }
    let hits = readable_hits(&state, found.hits).await?;
    Ok(Json(Hits { hits, has_more: found.has_more }))
}
