//! Why the bus refused a wish, for a person: without the tools that only models have, and with the command that helps.

use crate::bus::BusError;
use crate::bus::rules::{NobodyFits, PlacementRefusal, Refusal};
use crate::bus::state::State;
use crate::cli::{Failure, with_hint};
use crate::domain::limits;
use crate::domain::messaging::Author;
use crate::domain::name::Name;
use crate::domain::permission::{Decider, Decision};
use crate::domain::text::visible_letters::quoted;
use crate::view::{USER, human_in};

/// The command that shows members, and what waits for an answer.
const STATUS: &str = "`cli-team-bridge status` shows who is there, and what waits for you";

/// Explains why the bus did not do what a person asked for.
pub(super) fn explained(error: BusError, state: &State) -> Failure {
    let BusError::Refused(refusal) = error else {
        return error.into();
    };
    match refusal {
        Refusal::UnknownMember { name, nearest } => match Name::parse(&name) {
            Ok(name) if how_left(&name, state).is_some() => gone_with_name(&name, state),
            _ => unknown_member(&name, &nearest),
        },
        Refusal::NobodyElse => with_hint("nobody is here to read it", STATUS),
        Refusal::NobodyFits(fits) => nobody_fits(*fits),
        Refusal::Gone { name } => gone(&name, state),
        Refusal::NoSession { number, name: Some(name) } => {
            let what = format!("the session `{number}` has ended; it was one of `{name}`");
            with_hint(what, "a member's name lasts from session to session")
        }
        Refusal::NoSession { number, name: None } => {
            with_hint(format!("there is no session `{number}` here"), STATUS)
        }
        Refusal::NotAnAgent { name, kind, .. } => with_hint(
            format!("`{name}` is no agent that a bridge started, but joined by itself ({kind})"),
            "end it where it runs",
        ),
        Refusal::Placement(PlacementRefusal::ReadsNothing { name, readers }) => {
            let what = format!("`{name}` starts agents for others and reads no messages");
            if readers.is_empty() {
                with_hint(what, STATUS)
            } else {
                with_hint(what, format!("write to {readers}"))
            }
        }
        Refusal::UnknownPermission { id } => {
            let what = format!("there is no question `{id}`, or it was answered too long ago");
            with_hint(what, STATUS)
        }
        Refusal::PermissionOver { id, decision, by } => {
            let name = state.permission(&id).and_then(|asked| asked.answer.as_ref()?.name.clone());
            let answer = answer_in_words(decision, by, name.as_ref());
            format!("the question `{id}` was already answered: {answer}").into()
        }
        Refusal::UnknownTask { id } => {
            let what = format!("there is no task `{id}`, or it is too old to be found");
            with_hint(what, "`cli-team-bridge tasks` lists the tasks")
        }
        Refusal::UnknownWorkflow { id } => {
            let what = format!("there is no workflow `{id}`, or it is too old to be found");
            with_hint(what, "`cli-team-bridge workflows` lists the workflows")
        }
        Refusal::StepElsewhere { step, status } => {
            format!("the step `{step}` does not wait for approval: it is {}", status.as_str())
                .into()
        }
        Refusal::UnknownKey { id } => with_hint(
            format!("there is no key `{id}`, or it is revoked already"),
            "`cli-team-bridge key list` lists the valid ones",
        ),
        Refusal::NotOffered { id, .. } => with_hint(
            format!("the question `{id}` cannot be answered for good"),
            "leave out --always, and answer it each time",
        ),
        Refusal::NeedsReplyTo { signal } => with_hint(
            format!("the signal `{signal}` is about another message"),
            "name that with --reply-to, or leave --signal out",
        ),
        other => other.to_string().into(),
    }
}

/// Says that a group has no member, and which groups there are.
fn nobody_fits(fits: NobodyFits) -> Failure {
    let NobodyFits { group, nearest, mut words } = fits;
    if group.is_lead() {
        let what = format!("`{group}` reaches nobody: no orchestrator is here");
        return with_hint(what, STATUS);
    }
    let lists = words.lists_mut().into_iter().filter(|(_, list)| !list.is_empty());
    let lists = lists.map(|(what, list)| {
        let shown = &list[..list.len().min(limits::SHOWN_GROUP_WORDS)];
        match list.len() - shown.len() {
            0 => format!("{what} {}", in_quotes(shown)),
            more => format!("{what} {} and {more} more", in_quotes(shown)),
        }
    });
    let there = lists.collect::<Vec<_>>().join("; ");
    let hint = match (nearest.as_slice(), there.as_str()) {
        ([], "") => STATUS.to_owned(),
        ([], there) => format!("there are {there}"),
        (near, "") => format!("did you mean {}?", in_quotes(near)),
        (near, there) => format!("did you mean {}? There are {there}", in_quotes(near)),
    };
    with_hint(format!("`{group}` reaches nobody"), hint)
}

/// Says that a member has left, and how.
fn gone(name: &Name, state: &State) -> Failure {
    let how = how_left(name, state).map(|how| format!(" ({how})")).unwrap_or_default();
    with_hint(format!("`{name}` has left the team{how}"), STATUS)
}

/// Says that a member has left whose name nobody chose: unlike a chosen one, that gets no mail after its end.
fn gone_with_name(name: &Name, state: &State) -> Failure {
    let how = how_left(name, state).map(|how| format!(" ({how})")).unwrap_or_default();
    let why = "nobody chose this name, so no later member reads its mail";
    with_hint(format!("`{name}` has left the team{how}; {why}"), STATUS)
}

/// Returns how the last session of a name has left, if that is still known.
fn how_left(name: &Name, state: &State) -> Option<&'static str> {
    let mut left = state.departed().filter(|left| left.name == *name);
    left.next_back().map(|left| left.departure.with_detail(left.detail.as_deref()).0)
}

/// Says that nobody has this name, and which names are like it.
fn unknown_member(name: &str, nearest: &[String]) -> Failure {
    let shown = quoted(name, limits::SHOWN_NAME_CHARS);
    if name.eq_ignore_ascii_case(&Author::Human.to_string()) {
        return with_hint("`human` is you, the person at the command line", STATUS);
    }
    if matches!(name.to_ascii_lowercase().as_str(), "everyone" | "everybody") {
        return with_hint(format!("no member is named {shown}"), "`all` reaches all members");
    }
    let what = format!("no member is named {shown}");
    match nearest {
        [] => with_hint(what, STATUS),
        names => with_hint(what, format!("did you mean {}?", in_quotes(names))),
    }
}

fn in_quotes(names: &[String]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
/// Says how a question for permission was answered, and by whom.
fn answer_in_words(decision: Decision, by: Decider, name: Option<&Name>) -> String {
    let who = match (by, name) {
        (Decider::Deadline, _) => return "denied, as nobody answered in time".to_owned(),
        (Decider::Ended, _) => return "its agent needs no answer any more".to_owned(),
        (Decider::Policy, _) => "a standing rule".to_owned(),
        (Decider::Human, Some(name)) => human_in(name.as_str()),
        (Decider::Human, None) => USER.to_owned(),
        (Decider::Orchestrator, Some(name)) => name.to_string(),
        (Decider::Orchestrator, None) => "an orchestrator".to_owned(),
    };
    let decided = match decision {
        Decision::AllowOnce => "allowed this once",
        Decision::AllowAlways => "allowed from now on",
        Decision::Reject => "denied",
        Decision::RejectAlways => "denied from now on",
        Decision::Cancelled => "not answered",
    };
    format!("{decided} by {who}")
}
