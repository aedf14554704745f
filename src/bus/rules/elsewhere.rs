//! Addresses in other projects: which there are, and what may go there.

use super::nobody_fits::UnknownProject;
use super::refusal::Refusal;
use crate::bus::event::Envelope;
use crate::bus::state::State;
use crate::domain::member::Label;
use crate::domain::messaging::{Attached, Elsewhere, SignalClass};
use crate::domain::text::suggest::nearest;

/// What an address with a tag means.
pub(super) enum Meant {
    /// This is the project: the rest is an address here.
    Here,
    There(Elsewhere),
}

/// Finds what an address with a tag means.
pub(super) fn find(state: &State, tag: &Label, rest: &str) -> Result<Meant, Refusal> {
    let projects = state.other_projects();
    if projects.own.as_ref() == Some(tag) {
        return Ok(Meant::Here);
    }
    if !projects.tags.contains(tag) {
        let near = nearest(tag.as_str(), projects.tags.iter().map(Label::as_str));
        let mut tags = projects.tags.clone();
        let place = |tag: &Label| near.iter().position(|near| near == tag.as_str());
        tags.sort_by_key(|tag| place(tag).unwrap_or(near.len()));
        return Err(UnknownProject { tag: tag.clone(), tags }.into());
    }
    if projects.own.is_none() {
        return Err(Refusal::NoOwnTag);
    }
    Ok(Meant::There(Elsewhere::of(tag, rest)?))
}

/// Refuses what means nothing in another project.
pub(super) fn check(more: Option<&Envelope>, reply_to: Option<&str>) -> Result<(), Refusal> {
    let refuse = |what: String| Err(Refusal::DoesNotCross { what });
    if reply_to.is_some_and(|id| id.trim().starts_with("req-")) {
        return refuse("the answer to a request".to_owned());
    }
    let Some(more) = more else { return Ok(()) };
    if let Some(signal) = &more.signal {
        let crosses = match signal.class() {
            SignalClass::Say
            | SignalClass::Ask
            | SignalClass::Answer
            | SignalClass::Progress
            | SignalClass::Alarm => true,
            SignalClass::Work
            | SignalClass::Receipt
            | SignalClass::Position
            | SignalClass::Decision
            | SignalClass::HandOver => false,
        };
        if !crosses {
            return refuse(format!("the signal `{signal}`"));
        }
    }
    let is_file = |holds: &Attached| matches!(holds, Attached::File(_));
    if more.attachments.iter().any(|one| is_file(&one.holds)) {
        return refuse("a file of this project that is attached by its path".to_owned());
    }
    let fields = [
        ("`ttl_seconds`", more.ttl_seconds.is_some()),
        ("`supersedes`", more.supersedes.is_some()),
        ("`queue`", more.queue),
        ("`mention`", !more.mentions.is_empty() || !more.mentioned_sessions.is_empty()),
    ];
    match fields.iter().find(|(_, is_there)| *is_there) {
        Some((field, _)) => refuse((*field).to_owned()),
        None => Ok(()),
    }
}
