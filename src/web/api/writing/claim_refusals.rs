//! The problems of claims, lanes, topics, acknowledgements and waits.

use axum::http::StatusCode;

use crate::bus::rules::Refusal;
use crate::web::problem::Problem;

/// Explains why a claim, a lane, a topic, an acknowledgement or a wait is not as the program wants it; none if it is about something else.
pub(super) fn why_not_claimed(refusal: &Refusal) -> Option<Problem> {
    let conflict = |kind, title| Problem::new(StatusCode::CONFLICT, kind, title);
    let unprocessable = |kind, title| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, kind, title);
    let problem = match refusal {
        Refusal::ClaimOver { status, by, .. } => {
            let by = by.as_ref().map(|by| format!("; `{by}` has it, or had it last"));
            conflict("not-claimed", "This member has not claimed that request")
                .with_detail(format!("it is {}{}", status.as_str(), by.unwrap_or_default()))
                .with_hint("`/api/v1/requests` lists those without an answer")
        }
        Refusal::HandedToAuthor { name, .. } => {
            unprocessable("wrong-recipient", "The one who asks cannot own its request")
                .with_detail(format!("`{name}` asks for it"))
                .with_hint("hand it over to another member, or release it")
        }
        Refusal::HandedToGroup { .. } => unprocessable("wrong-recipient", "A claim has one owner")
            .with_hint("hand it over to one member"),
        Refusal::NobodyThere { name } => conflict("not-there", "That member cannot take it now")
            .with_detail(format!("`{name}` is not here, does not respond, or is being stopped"))
            .with_hint("`/api/v1/members` lists who is there"),
        Refusal::LaneTaken { lane, by } => conflict("lane-taken", "Another member owns the lane")
            .with_detail(format!("`{by}` owns `@{lane}`"))
            .with_hint(format!("write to `@{lane}`")),
        Refusal::LaneMeansMore { .. } | Refusal::LaneMeansOthers { .. } => {
            unprocessable("wrong-word", "No lane can have that name")
                .with_detail(refusal.to_string())
        }
        Refusal::TooManyLanes { limit } => {
            conflict("too-many-lanes", "This member owns as many lanes as it may")
                .with_detail(format!("the limit is {limit}"))
        }
        Refusal::NotYourLane { by, .. } => {
            let problem = conflict("not-your-lane", "This member does not own the lane");
            match by {
                Some(by) => problem.with_detail(format!("`{by}` owns it")),
                None => problem.with_detail("nobody owns it"),
            }
        }
        Refusal::TooManyTopics { limit } => {
            conflict("too-many-topics", "This member follows as many topics as it may")
                .with_detail(format!("the limit is {limit}"))
        }
        Refusal::NotFollowed { .. } => {
            conflict("not-followed", "This member does not follow the topic")
        }
        Refusal::NotForYou { .. } => {
            conflict("not-for-you", "The request is for others").with_detail(refusal.to_string())
        }
        Refusal::OwnMessage { .. } => {
            conflict("own-message", "A message is acknowledged by its recipients alone")
        }
        Refusal::ThreadResolved { .. } => {
            conflict("thread-resolved", "The thread is resolved already")
                .with_detail(refusal.to_string())
        }
        Refusal::NoteTooLong { bytes } => unprocessable("wrong-note", "The note is too long")
            .with_detail(format!("it has {bytes} bytes, of at most 2,000"))
            .with_hint("send what is longer as a message, with the id as `reply_to`"),
        Refusal::Circle { .. } => {
            conflict("wait-circle", "This member would wait for itself, through others")
                .with_detail(refusal.to_string())
        }
        Refusal::NotYourQuestion { .. } => {
            conflict("not-your-message", "Only its sender waits for the answer to a message")
                .with_hint("wait with `from` for its sender")
        }
        Refusal::OpensRequest { what } => unprocessable(
            "opens-request",
            "Work for a group opens a request, which has no such field",
        )
        .with_detail(format!("`{what}`"))
        .with_hint("leave it out, or write to one member"),
        _ => return None,
    };
    Some(problem)
}
