//! What the members of the demo wrote to each other, as the log of their bus has it.

use std::path::Path;

use super::closing_lines::entries;
use crate::bus::event::{Body, Event};
use crate::cli::{Failure, open_bus};
use crate::domain::messaging::MessageKind;

/// A line of the talk.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// The wall time in milliseconds since 1970.
    pub(super) at_ms: i64,
    pub(super) text: String,
}

/// Returns the talk so far on the bus in a directory.
pub(super) fn so_far(directory: &Path) -> Result<Vec<Line>, Failure> {
    let bus = open_bus::open_own_bus(directory)?;
    let entries = entries(&bus)?;
    let events = entries.iter().flat_map(|entry| {
        let at_ms = entry.ts;
        entry.events.iter().map(move |event| (at_ms, event))
    });
    Ok(events.filter_map(|(at_ms, event)| Some(Line { at_ms, text: text_of(event)? })).collect())
}

/// Returns an event in words, if it belongs to the talk. The demo's texts are short, so they are in their events.
fn text_of(event: &Event) -> Option<String> {
    let words = |body: &Body| match body {
        Body::Text(text) => Some(text.clone()),
        Body::Blob { .. } => None,
    };
    match event {
        Event::RequestOpened(request) => {
            let (from, to) = (&request.from, request.audience());
            Some(format!("{from} → {to}: {}", words(&request.description)?))
        }
        Event::RequestClaimed { by, .. } => Some(format!("{by} claims it")),
        Event::MessageSent(message) => {
            // The claim itself has a line.
            let is_talk = matches!(message.kind, MessageKind::Message | MessageKind::Response)
                && message.claimed_by.is_none();
            let from = message.from.member().filter(|_| is_talk)?;
            Some(format!("{from} → {}: {}", message.audience, words(&message.body)?))
        }
        _ => None,
    }
}
