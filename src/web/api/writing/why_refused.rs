//! The problem of each refusal: what is wrong, and what a program can do about it here. The sentences of refusals are for models with
//! tools, so a hint names the path in their place.

use std::time::Duration;

use axum::http::StatusCode;

use super::claim_refusals::why_not_claimed;
use crate::bus::BusError;
use crate::bus::rules::Refusal;
use crate::bus::storage::LogError;
use crate::web::acts::ActError;
use crate::web::api::check_caller::wrong_key;
use crate::web::problem::Problem;
use crate::web::programs::NotJoined;

/// Explains why the bus did not do something.
pub(in crate::web::api) fn why_not(error: &BusError) -> Problem {
    match error {
        BusError::Refused(refusal) => why_refused(refusal),
        BusError::Log(LogError::Removed) => {
            let title = "The team's bus was removed";
            Problem::new(StatusCode::NOT_FOUND, "no-team", title)
        }
        BusError::Log(LogError::Busy { .. }) | BusError::Closed => {
            let title = "The team's bus is busy, or is being closed";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "late", title)
                .with_hint("try again in a moment")
        }
        BusError::Log(_) => {
            let title = "The team's bus cannot be used";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unusable-bus", title)
                .with_detail(error.message_for_model())
        }
    }
}

/// Explains why a program is no member.
pub(super) fn why_not_joined(error: &NotJoined) -> Problem {
    match error {
        NotJoined::Bus(error) => why_not(error),
        NotJoined::Closed(ActError { words, hint }) => {
            let title = "The team cannot be joined";
            let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unusable-bus", title);
            let problem = problem.with_detail(words);
            match hint {
                Some(hint) => problem.with_hint(hint),
                None => problem,
            }
        }
        NotJoined::Taken { .. } => {
            let title = "A live member has the name of this key";
            Problem::new(StatusCode::CONFLICT, "name-taken", title)
                .with_detail(error.to_string())
                .with_hint("wait until it has left, or use a key of another name")
        }
        NotJoined::TooFast(_) => {
            let title = "This program asks for too much at once";
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "too-fast", title)
                .with_detail("it may go on in 1 s")
                .with_retry_after(Duration::from_secs(1))
        }
        NotJoined::Revoked => wrong_key(),
        NotJoined::Over => {
            let title = "The server ends";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "late", title)
        }
    }
}

fn why_refused(refusal: &Refusal) -> Problem {
    let conflict = |kind, title| Problem::new(StatusCode::CONFLICT, kind, title);
    let unprocessable = |kind, title| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, kind, title);
    let missing = |kind, title| Problem::new(StatusCode::NOT_FOUND, kind, title);
    match refusal {
        Refusal::UnknownMember { name, nearest } => {
            let problem = missing("no-such-member", "There is no such member")
                .with_detail(format!("no member has ever been named `{name}`"));
            match nearest.as_slice() {
                [] => problem.with_hint("`/api/v1/members` lists the members"),
                names => problem.with_hint(format!("did you mean {}?", quoted(names))),
            }
        }
        Refusal::NoSession { number, name } => {
            let problem = missing("no-such-member", "There is no such session")
                .with_detail(format!("no live session has the number `{number}`"));
            match name {
                Some(name) => problem.with_hint(format!("it was one of `{name}`; names last")),
                None => problem.with_hint("`/api/v1/members` lists the members"),
            }
        }
        Refusal::TooFast { wait_ms, .. } => {
            let title = "This program sends too many messages";
            let seconds = wait_ms.div_ceil(1_000).max(1);
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "too-fast", title)
                .with_detail(format!("it may go on in {seconds} s"))
                .with_hint("`messages_per_minute` under [limits] of the configuration is the limit")
                .with_retry_after(Duration::from_secs(seconds))
        }
        Refusal::ToYourself { .. } => {
            unprocessable("wrong-recipient", "A program does not write to itself")
                .with_hint("`/api/v1/members` lists the others")
        }
        Refusal::ToAll
        | Refusal::ToSeveral { .. }
        | Refusal::NobodyFits(_)
        | Refusal::NobodyElse
        | Refusal::Address(_)
        | Refusal::OtherProject { .. } => wrong_address(refusal),
        refusal if is_about_projects(refusal) => wrong_address(refusal),
        Refusal::ToUser { .. } | Refusal::ToBridge | Refusal::Name(_) => {
            unprocessable("wrong-recipient", "This is no member that reads messages")
                .with_hint("`/api/v1/members` lists the members")
        }
        Refusal::NotAnswerable { .. } => {
            unprocessable("not-answerable", "This cannot be answered with `reply_to`")
                .with_hint("name a message of your inbox, or a request")
        }
        Refusal::NeedsReplyTo { signal } => {
            unprocessable("needs-reply-to", "Such a signal says something of another message")
                .with_detail(format!("`{signal}` needs `reply_to`"))
        }
        Refusal::Shape(_)
        | Refusal::PayloadTooLong { .. }
        | Refusal::NoReference { .. }
        | Refusal::Attachment(_)
        | Refusal::SecondsOutOfRange { .. } => wrong_envelope(refusal),
        Refusal::Empty { .. } => unprocessable("empty-text", "A text is empty"),
        Refusal::TooLong { bytes, .. } => {
            let title = "A text is longer than 1 MiB";
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-long", title)
                .with_detail(format!("it has {bytes} bytes"))
                .with_hint("put it into a file of the project, and name the file")
        }
        Refusal::InboxFull { .. } | Refusal::InboxHeavy { .. } => {
            conflict("inbox-full", "The recipient's inbox is full").with_detail(refusal.to_string())
        }
        Refusal::TooManyRequests { .. } => {
            conflict("too-many-requests", "Too many requests of this member have no answer yet")
        }
        Refusal::UnknownMessage { .. } => missing(
            "no-such-message",
            "This member has sent and received no such message, or it is too old",
        ),
        Refusal::UnknownRequest { .. } => {
            missing("no-such-request", "There is no such request, or it ended too long ago")
                .with_hint("`/api/v1/requests` lists those without an answer")
        }
        Refusal::Id(error) => {
            missing("no-such-id", "This is no id of that kind").with_detail(error.to_string())
        }
        Refusal::OwnRequest { .. } => {
            conflict("own-request", "A request is claimed by another member than the one who asks")
                .with_hint("claim it with the key of another program, or leave it to a member")
        }
        Refusal::ClaimLost { .. } => conflict("claim-lost", "The request is no longer free")
            .with_detail(refusal.to_string())
            .with_hint("`/api/v1/requests` lists those without an answer"),
        Refusal::NotAnAgent { .. }
        | Refusal::Stopping { .. }
        | Refusal::Stuck { .. }
        | Refusal::OfTrial { .. }
        | Refusal::QueueFull { .. } => takes_no_task(refusal),
        Refusal::Left => conflict("has-left", "This member has left the team meanwhile")
            .with_hint("send the request again: it joins anew, unless its key was revoked"),
        other => why_not_claimed(other).unwrap_or_else(|| {
            conflict("refused", "The team's bus refuses that").with_detail(other.to_string())
        }),
    }
}

/// Explains what is wrong with what a message has beside its text.
fn wrong_envelope(refusal: &Refusal) -> Problem {
    let (kind, title) = match refusal {
        Refusal::Shape(_) | Refusal::PayloadTooLong { .. } => {
            ("wrong-payload", "The payload is wrong")
        }
        Refusal::NoReference { .. } => ("wrong-ref", "What the message is about is wrong"),
        Refusal::Attachment(_) => ("wrong-attachment", "An attachment is wrong"),
        _ => ("wrong-time", "A time is out of its range"),
    };
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, kind, title).with_detail(refusal.to_string())
}

/// Explains why an agent takes no task.
fn takes_no_task(refusal: &Refusal) -> Problem {
    let conflict = |kind, title| Problem::new(StatusCode::CONFLICT, kind, title);
    match refusal {
        Refusal::NotAnAgent { name, kind, .. } => {
            conflict("no-agent", "Only an agent that a bridge has started takes tasks")
                .with_detail(format!("`{name}` is a live {kind}"))
                .with_hint("write to it with `/api/v1/messages`")
        }
        Refusal::Stopping { .. } => conflict("agent-ends", "The agent is being stopped"),
        Refusal::Stuck { .. } => {
            conflict("agent-stuck", "The agent does not end its last turn, and takes no tasks")
        }
        Refusal::OfTrial { .. } => {
            conflict("agent-of-trial", "The agent plays a script in a trial of a workflow")
        }
        Refusal::QueueFull { limit, .. } => {
            conflict("queue-full", "The agent has as many tasks as it may have")
                .with_detail(format!("{limit} tasks wait"))
        }
        other => conflict("refused", "The team's bus refuses that").with_detail(other.to_string()),
    }
}

/// Says whether a refusal is about a message to another project.
fn is_about_projects(refusal: &Refusal) -> bool {
    matches!(
        refusal,
        Refusal::UnknownProject(_)
            | Refusal::Elsewhere(_)
            | Refusal::NoOwnTag
            | Refusal::DoesNotCross { .. }
            | Refusal::PersonElsewhere { .. }
    )
}

/// Explains why an address reaches nobody.
fn wrong_address(refusal: &Refusal) -> Problem {
    let wrong = |title| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "wrong-recipient", title);
    let nobody = |title| Problem::new(StatusCode::NOT_FOUND, "nobody-fits", title);
    match refusal {
        Refusal::ToAll => wrong("There is no such member").with_hint("`all` reaches all members"),
        Refusal::ToSeveral { .. } => wrong("A message has one address")
            .with_hint("send one to each, or write to a group, such as `@role`"),
        Refusal::NobodyElse => nobody("No other member is live"),
        Refusal::UnknownProject(unknown) => {
            nobody("No project has that tag").with_detail(unknown.to_string())
        }
        Refusal::NoOwnTag => wrong("This project has no tag, so nobody in another could answer"),
        Refusal::Elsewhere(_) => wrong("An address in another project is `TAG:NAME` or `TAG:*`"),
        Refusal::DoesNotCross { .. } => wrong("This does not cross to another project"),
        Refusal::PersonElsewhere { .. } | Refusal::OtherProject { .. } => {
            wrong("Only messages of members reach another project")
        }
        Refusal::NobodyFits(nobody_fits) => {
            nobody("The group has no live member").with_detail(nobody_fits.to_string())
        }
        other => wrong("This is no address").with_detail(other.to_string()),
    }
}

fn quoted(names: &[String]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
