//! What happens, as it happens: server-sent events whose id is the seq. Whoever connects again with the last id goes on after it, so
//! nothing is skipped between two connections.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures::stream::unfold;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;

use super::log_events::{LogEvents, Telling};
use crate::domain::wait_times;
use crate::view::{Happenings, MessageEvents};
use crate::web::api::read_answers::no_answer;
use crate::web::api::read_request::{Asked, wrong_query};
use crate::web::bus_reader::Watching;
use crate::web::problem::Problem;
use crate::web::programs::{Program, Staying};
use crate::web::server_state::ServerState;

/// Where to begin.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::web::api) struct WhichEvents {
    /// After this seq; 0 for all that the log still has. Without it, with what happens from now on. `Last-Event-ID` counts more.
    after: Option<u64>,
}

/// Tells all that happens, in words.
pub(in crate::web::api) async fn events(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    headers: HeaderMap,
    Asked(which): Asked<WhichEvents>,
) -> Result<Response, Problem> {
    stream_of::<Happenings>(state, program, &headers, which).await
}

/// Tells what happens to messages, conversations and disagreements, under the names of another specification.
pub(in crate::web::api) async fn message_events(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    headers: HeaderMap,
    Asked(which): Asked<WhichEvents>,
) -> Result<Response, Problem> {
    stream_of::<MessageEvents>(state, program, &headers, which).await
}

async fn stream_of<T: Telling>(
    state: ServerState,
    program: Program,
    headers: &HeaderMap,
    which: WhichEvents,
) -> Result<Response, Problem> {
    let after = last_event_id(headers)?.or(which.after);
    let place = place_of_stream(&state)?;
    let watching = state.reader.watch();
    let begun = state.reader.ask(move |bus| {
        let (last, seen) = (bus.seq(), after.unwrap_or(bus.seq()));
        (last, seen, if seen > last { None } else { LogEvents::<T>::after(bus, seen).ok() })
    });
    let (last, seen, events) = begun.await.map_err(no_answer)?;
    if seen > last {
        return Err(wrong_query(&format!("the last event of this bus is {last}")));
    }
    let events = events.ok_or_else(|| {
        let title = "The log cannot be read";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unusable-bus", title)
    })?;
    let hello = Event::default().event("hello").id(seen.to_string());
    let mut waiting =
        VecDeque::from([hello.data(json!({ "after": seen, "last": last }).to_string())]);
    if let Some(gap_to) = events.gap_to {
        let gap = json!({ "from_seq": seen + 1, "to_seq": gap_to - 1 });
        waiting.push_back(Event::default().event("gap").data(gap.to_string()));
    }
    let staying = state.programs.stay(&program.name);
    let stream = EventStream {
        state,
        program,
        watching,
        events: Some(events),
        waiting,
        has_more: true,
        _place: place,
        _staying: staying,
    };
    let stream = unfold(stream, async |mut stream| {
        let event = stream.next().await?;
        Some((Ok::<_, Infallible>(event), stream))
    });
    let keep_alive = KeepAlive::new().interval(wait_times::WEB_COMMENT);
    Ok(Sse::new(stream).keep_alive(keep_alive).into_response())
}

/// Takes the place of an open stream, or of a call that waits.
pub(in crate::web::api) fn place_of_stream(
    state: &ServerState,
) -> Result<OwnedSemaphorePermit, Problem> {
    Arc::clone(&state.program_streams).try_acquire_owned().map_err(|_| {
        let title = "Too many event streams are open, or too many calls wait";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too-many-streams", title)
            .with_hint("close some")
            .with_retry_after(wait_times::WEB_BUSY)
    })
}

/// Returns the seq that a program has seen before its connection broke.
fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(id) = headers.get("last-event-id") else { return Ok(None) };
    let seq = id.to_str().ok().and_then(|id| id.trim().parse().ok());
    seq.map(Some).ok_or_else(|| wrong_query("`Last-Event-ID` is the seq of an event"))
}

/// An open stream.
struct EventStream<T> {
    state: ServerState,
    /// Whose key has opened it.
    program: Program,
    watching: Watching,
    /// None while another thread reads.
    events: Option<LogEvents<T>>,
    /// Events that are not sent yet.
    waiting: VecDeque<Event>,
    /// Whether there is more to read already.
    has_more: bool,
    _place: OwnedSemaphorePermit,
    _staying: Staying,
}

impl<T: Telling> EventStream<T> {
    /// Returns the next event; none once the server ends, the key is revoked, or the bus cannot be read.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            if !self.has_more {
                let ending = self.state.ending.clone();
                tokio::select! {
                    biased;
                    () = ending.cancelled() => return None,
                    changed = self.watching.snapshots.changed() => changed.ok()?,
                }
            }
            self.watching.snapshots.borrow_and_update();
            let (mut events, hash) = (self.events.take()?, self.program.hash.clone());
            let reading = self.state.reader.ask(move |bus| {
                // It may have been revoked meanwhile.
                bus.state().key_of(&hash)?;
                let news = events.next(bus).ok()?;
                Some((events, news))
            });
            let (events, news) = reading.await.ok().flatten()?;
            if news.is_other {
                return None;
            }
            self.events = Some(events);
            self.has_more = news.has_more;
            self.waiting = told::<T>(&news.said).into();
        }
    }
}

/// Makes the events of what was said. Of several that one event of the log means, only the last has its id: whoever connects again after
/// the others gets all of them once more, and none is skipped.
fn told<T: Telling>(said: &[T::Said]) -> Vec<Event> {
    let mut events = Vec::new();
    for (index, one) in said.iter().enumerate() {
        let (seq, name) = T::place_of(one);
        let data = serde_json::to_string(one).expect("what was said is plain data");
        let event = Event::default().event(name).data(data);
        let goes_on = said.get(index + 1).is_some_and(|next| T::place_of(next).0 == seq);
        events.push(if goes_on { event } else { event.id(seq.to_string()) });
    }
    events
}
