//! The event stream of one page.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures::Stream;
use futures::stream::unfold;
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::live_changes::{LiveChanges, event};
use crate::domain::wait_times;
use crate::team::FileDiff;
use crate::web::bus_reader::{ChangedFiles, Watching, has_live_words, last_turn};
use crate::web::gate::{refused, retry_after};
use crate::web::pages::{Extra, View};
use crate::web::routes::{pairs, unreadable, view_of};
use crate::web::server_state::ServerState;
use crate::web::team_snapshot::Snapshot;

/// Answers with the changes of the page that `?view=PATH` names.
pub(in crate::web) async fn live(State(state): State<ServerState>, request: Request) -> Response {
    let query = pairs(request.uri());
    let named = query.iter().find(|(name, _)| name == "view");
    let Some(view) = view_of(named.map_or("", |(_, path)| path.as_str())) else {
        let words = "`?view=` names the path of a page.";
        return refused(StatusCode::BAD_REQUEST, "There is no such page", &[words]);
    };
    let Ok(place) = Arc::clone(&state.streams).try_acquire_owned() else {
        let words = "Too many pages are open. Close some.";
        let answer = refused(StatusCode::SERVICE_UNAVAILABLE, "Too many pages", &[words]);
        return retry_after(answer, wait_times::WEB_BUSY);
    };
    // A page that connects anew by itself names what it has seen in its address, as no browser sends the header then.
    let after =
        query.iter().find(|(name, _)| name == "after").and_then(|(_, seq)| seq.parse().ok());
    let seen = last_seen(request.headers()).or(after);
    let watching = state.reader.watch();
    // The first look; what the stream waits for are later ones.
    let Ok(first) = state.reader.snapshot().await else { return unreadable() };
    let hello = json!({ "can_write": state.settings.can_write, "can_answer": state.settings.can_answer, "seq": first.seq() });
    let page = LivePage {
        changes: LiveChanges::of(view.clone(), seen),
        waiting: VecDeque::from([event("hello", first.seq(), &hello)]),
        view,
        watching,
        is_first: true,
        diffs: None,
        state,
        _place: place,
    };
    Sse::new(stream(page))
        .keep_alive(KeepAlive::new().interval(wait_times::WEB_COMMENT))
        .into_response()
}

/// Returns the seq that a page has seen before its connection broke.
fn last_seen(headers: &HeaderMap) -> Option<u64> {
    headers.get("last-event-id")?.to_str().ok()?.trim().parse().ok()
}

/// A page that is open.
struct LivePage {
    state: ServerState,
    view: View,
    watching: Watching,
    changes: LiveChanges,
    /// Events that are not sent yet.
    waiting: VecDeque<Event>,
    is_first: bool,
    /// The differences that the page shows. Git is asked again when its task has changed other files.
    diffs: Option<(ChangedFiles, Vec<FileDiff>)>,
    _place: OwnedSemaphorePermit,
}

fn stream(page: LivePage) -> impl Stream<Item = Result<Event, Infallible>> {
    unfold(page, async |mut page| {
        let event = page.next().await?;
        Some((Ok(event), page))
    })
}

impl LivePage {
    /// Returns the next event; none once the server ends.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            let ending = self.state.ending.clone();
            tokio::select! {
                biased;
                () = ending.cancelled() => return None,
                goes_on = self.wait() => if !goes_on { return None },
            }
            let snapshot = Arc::clone(&self.watching.snapshots.borrow_and_update());
            let extra = self.extra(&snapshot).await;
            let context = self.state.context(None);
            self.waiting = self.changes.events((&snapshot, &extra), &context);
        }
    }

    /// Waits until something may be new.
    async fn wait(&mut self) -> bool {
        if std::mem::take(&mut self.is_first) {
            return true;
        }
        let changed = self.watching.snapshots.changed();
        if has_live_words(&self.view) {
            // Nothing reports that a transcript grows.
            let changed = timeout(wait_times::WINDOW_LIVE, changed).await;
            return changed.is_err() || changed.is_ok_and(|seen| seen.is_ok());
        }
        changed.await.is_ok()
    }

    /// Reads what the view needs besides the snapshot. A search is not live.
    async fn extra(&mut self, snapshot: &Snapshot) -> Extra {
        let needs_none = matches!(
            self.view,
            View::Conversation
                | View::Sequence
                | View::Timeline
                | View::Tasks
                | View::Requests
                | View::Workflows
                | View::Search(_)
        );
        if needs_none || snapshot.board.is_none() {
            return Extra::default();
        }
        let view = self.view.clone();
        let last_turn = last_turn(snapshot, &view);
        let gathered = self.state.reader.gather(view, None, last_turn).await;
        let (mut extra, files) = gathered.unwrap_or_default();
        if let Some(files) = files {
            if self.diffs.as_ref().is_none_or(|(known, _)| *known != files) {
                let diffs = self.state.diffs.of(&files).await;
                self.diffs = Some((files, diffs));
            }
            extra.diffs = self.diffs.as_ref().map(|(_, diffs)| diffs.clone()).unwrap_or_default();
        }
        extra
    }
}
