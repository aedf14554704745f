//! What happens, as it happens: server-sent events whose id is the seq. Whoever connects again with the last id goes on after it, so
//! nothing is skipped between two connections.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures::stream::unfold;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;

use super::log_events::LogEvents;
use super::read_answers::no_answer;
use super::read_request::{Asked, wrong_query};
use crate::domain::wait_times;
use crate::view::Happening;
use crate::web::bus_reader::Watching;
use crate::web::problem::Problem;
use crate::web::programs::{Program, Staying};
use crate::web::server_state::ServerState;

/// Where to begin.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WhichEvents {
    /// After this seq; 0 for all that the log still has. Without it, with what happens from now on. `Last-Event-ID` counts more.
    after: Option<u64>,
}

pub(super) async fn events(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    headers: HeaderMap,
    Asked(which): Asked<WhichEvents>,
) -> Result<Response, Problem> {
    let after = last_event_id(&headers)?.or(which.after);
    let Ok(place) = Arc::clone(&state.program_streams).try_acquire_owned() else {
        let title = "Too many event streams are open";
        let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too-many-streams", title);
        let mut answer = problem.with_hint("close some").into_response();
        let busy = HeaderValue::from(wait_times::WEB_BUSY.as_secs());
        answer.headers_mut().insert(header::RETRY_AFTER, busy);
        return Ok(answer);
    };
    let watching = state.reader.watch();
    let begun = state.reader.ask(move |bus| {
        let (last, seen) = (bus.seq(), after.unwrap_or(bus.seq()));
        (last, seen, if seen > last { None } else { LogEvents::after(bus, seen).ok() })
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

/// Returns the seq that a program has seen before its connection broke.
fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(id) = headers.get("last-event-id") else { return Ok(None) };
    let seq = id.to_str().ok().and_then(|id| id.trim().parse().ok());
    seq.map(Some).ok_or_else(|| wrong_query("`Last-Event-ID` is the seq of an event"))
}

/// An open stream.
struct EventStream {
    state: ServerState,
    /// Whose key has opened it.
    program: Program,
    watching: Watching,
    /// None while another thread reads.
    events: Option<LogEvents>,
    /// Events that are not sent yet.
    waiting: VecDeque<Event>,
    /// Whether there is more to read already.
    has_more: bool,
    _place: OwnedSemaphorePermit,
    _staying: Staying,
}

impl EventStream {
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
            self.waiting = news.happenings.iter().map(event_of).collect();
        }
    }
}

fn event_of(happening: &Happening) -> Event {
    let data = serde_json::to_string(happening).expect("a happening is plain data");
    Event::default().event(happening.topic.as_str()).id(happening.seq.to_string()).data(data)
}
