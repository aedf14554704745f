//! Pages and the files that they load.

use axum::extract::{Query, Request, State};
use axum::http::{HeaderName, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse as _, Response};

use crate::domain::{limits, wait_times};
use crate::search::{IndexPlace, Query as Words, Search, search};
use crate::sys::mutex::lock;
use crate::web::assets::{Asset, find_asset};
use crate::web::bus_reader::{NoAnswer, last_turn};
use crate::web::gate::{refused, retry_after};
use crate::web::pages::{Extra, PageInput, SearchResult, View, page};
use crate::web::server_state::ServerState;

/// Browsers may keep a file whose path changes with its content.
const FOR_EVER: &str = "public, max-age=31536000, immutable";

/// Answers a path that no other route has: a file, a view, or nothing.
pub(in crate::web) async fn show_page(
    State(state): State<ServerState>,
    request: Request,
) -> Response {
    let uri = request.uri();
    let below = state.settings.base_path.below(uri.path());
    if let Some(asset) = find_asset(below.unwrap_or(uri.path())) {
        return of_asset(asset);
    }
    let query = pairs(uri);
    let Some(view) = below.and_then(|path| View::of(path, &query)) else {
        let words = "Go back, or open the URL that `cli-team-bridge web` has printed.";
        return refused(StatusCode::NOT_FOUND, "There is no such page", &[words]);
    };
    let before = query.iter().find(|(name, _)| name == "before");
    let before = before.and_then(|(_, seq)| seq.parse().ok());
    let Ok(snapshot) = state.reader.snapshot().await else { return unreadable() };
    let extra = match &view {
        View::Search(words) if !words.trim().is_empty() => {
            Extra { found: Some(found(&state, words.clone(), ()).await), ..Extra::default() }
        }
        _ => {
            let last_turn = last_turn(&snapshot, &view);
            match state.reader.gather(view.clone(), before, last_turn).await {
                Ok((mut extra, files)) => {
                    if let Some(files) = files {
                        extra.diffs = state.diffs.of(&files).await;
                    }
                    extra
                }
                // The page says why there is no bus.
                Err(NoAnswer::NoBus(_)) => Extra::default(),
                Err(NoAnswer::Late) => return unreadable(),
            }
        }
    };
    let notice = lock(&state.notice).take();
    let input = PageInput { snapshot: &snapshot, extra: &extra };
    Html(page(&view, &input, &state.context(notice.as_deref()))).into_response()
}

/// Says that the bus could not be read in time.
pub(in crate::web) fn unreadable() -> Response {
    let words = "The team's bus could not be read in time. Try again in a moment.";
    let answer = refused(StatusCode::SERVICE_UNAVAILABLE, "Not now", &[words]);
    retry_after(answer, wait_times::WEB_BUSY)
}

/// Returns the view that a relative target names, such as `usage?by=day`.
pub(in crate::web) fn view_of(target: &str) -> Option<View> {
    let uri: Uri = format!("/{target}").parse().ok()?;
    View::of(uri.path().strip_prefix('/')?, &pairs(&uri))
}

/// Returns the pairs of a query; none if it is no query.
pub(in crate::web) fn pairs(uri: &Uri) -> Vec<(String, String)> {
    Query::try_from_uri(uri).map(|Query(pairs)| pairs).unwrap_or_default()
}

fn of_asset(asset: Asset) -> Response {
    let kept = if asset.is_hashed { FOR_EVER } else { "no-cache" };
    let headers: [(HeaderName, &str); 2] =
        [(header::CONTENT_TYPE, asset.content_type), (header::CACHE_CONTROL, kept)];
    (headers, asset.bytes).into_response()
}

/// Searches the history, apart from the thread that reads the bus: the first search of a bus makes its index.
/// `held` is dropped when that has ended, also if nobody waits for it any more.
pub(in crate::web) async fn found(
    state: &ServerState,
    words: String,
    held: impl Send + 'static,
) -> SearchResult {
    let surroundings = std::sync::Arc::clone(&state.surroundings);
    let searching = tokio::task::spawn_blocking(move || {
        let _held = held;
        let query = Words::parse([words.as_str()]).map_err(|error| error.to_string())?;
        let history = surroundings.open_history().map_err(|error| error.to_string())?;
        let Some(mut history) = history else { return Ok(None) };
        let asked = Search { query, since_ms: None, limit: limits::WEB_HITS };
        let place = IndexPlace::of_process();
        let found = search(&mut history, &place, &asked, &mut || {}, &mut |_| {});
        found.map(Some).map_err(|error| error.to_string())
    });
    let (found, trouble) = match searching.await {
        Ok(Ok(found)) => (found.unwrap_or_default(), None),
        Ok(Err(trouble)) => (crate::search::Found::default(), Some(trouble)),
        Err(_) => (crate::search::Found::default(), Some("the search has failed".to_owned())),
    };
    SearchResult { hits: found.hits, has_more: found.has_more, trouble }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_page_of_this_server_is_a_target() {
        assert_eq!(view_of(""), Some(View::Team));
        assert_eq!(view_of("./"), Some(View::Team));
        assert_eq!(view_of("task-task-1?x=1"), Some(View::Task("task-1".to_owned())));
        for away in
            ["//evil.example", "https://evil.example", "/\\evil.example", "a\r\nb", "/tasks"]
        {
            assert_eq!(view_of(away), None, "{away:?}");
        }
    }
}
