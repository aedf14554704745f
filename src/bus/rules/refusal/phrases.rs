//! The parts of refusals that depend on what is there.

use crate::domain::ids::{MessageId, RequestId};
use crate::domain::limits;
use crate::domain::messaging::RequestStatus;
use crate::domain::name::Name;
use crate::domain::permission::Decision;
use crate::domain::text::counted::counted;
use crate::domain::text::listed::listed;

pub(super) fn with_article(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'o']) { "an" } else { "a" };
    format!("{article} {kind}")
}

pub(super) fn standing(status: RequestStatus, by: Option<&Name>) -> String {
    let by = by.map(|by| format!(" by {by}")).unwrap_or_default();
    match status {
        RequestStatus::Open | RequestStatus::Claimed | RequestStatus::Completed => {
            format!("is {}{by}", status.as_str())
        }
        RequestStatus::Expired | RequestStatus::Failed => format!("has {}", status.as_str()),
    }
}

pub(super) fn whose(id: &RequestId, status: RequestStatus, by: Option<&Name>) -> String {
    match (status, by) {
        (RequestStatus::Open, _) => format!("nobody owns it; claim_request with `{id}` takes it"),
        (RequestStatus::Claimed, Some(by)) => format!("`{by}` owns it"),
        (_, Some(by)) => format!("it is {}; its last owner was `{by}`", status.as_str()),
        (_, None) => format!("it is {}", status.as_str()),
    }
}

/// Says who waits for whom, and whom to answer first.
pub(super) fn circle(chain: &[Name], asked: Option<&str>) -> String {
    let last = chain.last().map(Name::as_str).unwrap_or_default();
    let steps = chain.windows(2).map(|pair| format!("`{}` waits for `{}`", pair[0], pair[1]));
    let steps: Vec<_> = steps.chain([format!("`{last}` waits for you")]).collect();
    let by = asked.map(|id| format!(", with `{id}` as reply_to")).unwrap_or_default();
    let steps = listed(&steps, "and");
    format!("you would wait in a circle, because {steps}: answer `{last}` first{by}")
}

/// Says how many attachments a message has, and the name of the first.
pub(super) fn attachments(id: &MessageId, count: usize) -> String {
    if count == 0 {
        return "no attachments".to_owned();
    }
    format!("{}: `{id}/1` is the first", counted(count, "attachment"))
}

/// Says what a reference of this length is not. One that is short enough has a line break or another invisible character.
pub(super) fn reference(bytes: usize) -> String {
    if bytes > limits::REFERENCE_BYTES {
        return format!("one line of at most {} bytes, not {bytes} bytes", limits::REFERENCE_BYTES);
    }
    "one line without control characters or invisible letters".to_owned()
}

/// Says that no more messages may wait for a reader. The limit counts those to other projects with those to groups.
pub(super) fn too_many_wait(count: usize, own: bool, crosses: bool) -> String {
    let limit = if own { "the limit of one member" } else { "the limit" };
    let (what, when) = if crosses {
        ("for the way to another project or for somebody who fits", "some of them have arrived")
    } else {
        ("for somebody who fits", "somebody is there")
    };
    format!("{count} messages already wait {what}, {limit}: write again when {when}")
}

pub(super) fn words(offers: &[Decision]) -> String {
    let words: Vec<_> = offers.iter().map(|offer| offer.as_str()).collect();
    words.join(", ")
}

pub(super) fn who_may(who: &[Name]) -> String {
    let shown = &who[..who.len().min(limits::SHOWN_GROUP_WORDS)];
    let names: Vec<_> = shown.iter().map(|name| format!("`{name}`")).collect();
    match who.len() - shown.len() {
        _ if who.is_empty() => ": none of them is live now".to_owned(),
        0 => format!(": {} may claim it", names.join(", ")),
        more => format!(": {} and {more} more may claim it", names.join(", ")),
    }
}

pub(super) fn ended_hint(name: Option<&Name>) -> String {
    match name {
        Some(name) => format!(" any more: it was one of `{name}`, whose name lasts"),
        None => ": list_agents shows those that are".to_owned(),
    }
}

pub(super) fn nearest_hint(nearest: &[String]) -> String {
    match nearest {
        [] => ": list_agents shows the members".to_owned(),
        names => format!(
            ": did you mean {}?",
            names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        ),
    }
}
