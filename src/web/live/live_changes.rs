//! What has changed on one page since the last time, as events.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use axum::response::sse::Event;
use serde_json::json;

use crate::domain::limits;
use crate::view::Letter;
use crate::web::pages::{
    Extra, Fragment, PageContext, PageInput, View, fragments, rows_of_letters,
};
use crate::web::team_snapshot::Snapshot;

/// What a page has been sent.
pub(super) struct LiveChanges {
    view: View,
    /// A digest of each fragment, by its id.
    sent: BTreeMap<String, u64>,
    /// A digest of each row, by the seq of its message.
    rows: BTreeMap<u64, u64>,
    /// The seq that a page which reconnects has seen.
    seen: Option<u64>,
}

impl LiveChanges {
    /// Begins with nothing, or with the rows up to a seq.
    pub(super) fn of(view: View, seen: Option<u64>) -> Self {
        Self { view, sent: BTreeMap::new(), rows: BTreeMap::new(), seen }
    }

    /// Returns the events that bring the page up to date.
    pub(super) fn events(
        &mut self,
        (snapshot, extra): (&Snapshot, &Extra),
        context: &PageContext<'_>,
    ) -> VecDeque<Event> {
        let seq = snapshot.seq();
        let mut events = VecDeque::new();
        let input = PageInput { snapshot, extra };
        for Fragment { id, html } in fragments(&self.view, &input, context) {
            let digest = digest(&html);
            if self.sent.get(&id) != Some(&digest) {
                events.push_back(event("fragment", seq, &json!({ "id": id, "html": html })));
                self.sent.insert(id, digest);
            }
        }
        let letters: &[Letter] = match &self.view {
            View::Conversation => &snapshot.letters,
            View::Thread(_) => &extra.thread,
            _ => return events,
        };
        let rows = self.changed_rows(letters, context);
        if !rows.is_empty() {
            events.push_back(event("rows", seq, &json!({ "list": "letters", "rows": rows })));
        }
        events
    }

    /// Returns the rows that are new or have changed.
    fn changed_rows(
        &mut self,
        letters: &[Letter],
        context: &PageContext<'_>,
    ) -> Vec<serde_json::Value> {
        // The receipts of the last rows may have changed since the page was made; those before have settled.
        let again = letters.len().saturating_sub(limits::WEB_ROWS_AGAIN);
        let seen = self.seen.take();
        let first = letters.iter().position(|letter| seen.is_some_and(|seen| letter.seq > seen));
        let from = first.map_or(again, |first| first.min(again));
        let kept: BTreeSet<u64> = letters.iter().map(|letter| letter.seq).collect();
        self.rows.retain(|seq, _| kept.contains(seq));
        let mut changed = Vec::new();
        for letter in &letters[from..] {
            for Fragment { id, html } in rows_of_letters(std::slice::from_ref(letter), context) {
                let digest = digest(&html);
                if self.rows.insert(letter.seq, digest) != Some(digest) {
                    changed.push(json!({ "id": id, "html": html }));
                }
            }
        }
        changed
    }
}

/// Makes an event of a kind, whose id is a seq.
pub(super) fn event(kind: &str, seq: u64, data: &serde_json::Value) -> Event {
    Event::default().event(kind).id(seq.to_string()).data(data.to_string())
}

fn digest(html: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    html.hash(&mut hasher);
    hasher.finish()
}
