//! Finds the member that a text names, and checks the texts of messages and the room for them.
//!
//! A model that sends also tries words for everyone, for its user and for itself. Each gets an answer of its own.

use crate::bus::event::Body;
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::refusal::{PlacementRefusal, Refusal};
use crate::bus::state::State;
use crate::domain::limits;
use crate::domain::member::SessionNumber;
use crate::domain::name::Name;
use crate::domain::text::suggest::nearest;

/// Finds the member that a text names: by its name, or by the number of its live session. A name like a number counts as long as a
/// member lives under it, and then comes first.
pub fn known_member<'a>(state: &'a State, text: &str) -> Result<&'a Name, Refusal> {
    if let Some(number) = SessionNumber::parse(text) {
        return match state.live_as(text) {
            Some(live) => Ok(&live.name),
            None => Err(no_session(state, number)),
        };
    }
    // A malformed name may be a typo, so it gets suggestions, too.
    let known = Name::parse(text).ok().and_then(|name| state.member(&name));
    known.map(|member| &member.name).ok_or_else(|| {
        let shown: String = text.chars().take(limits::SHOWN_NAME_CHARS).collect();
        let nearest = nearest(&shown, state.names().map(Name::as_str));
        Refusal::UnknownMember { name: shown, nearest }
    })
}

/// Finds the member that a text names, as somebody who is to read something: the bridge of a host reads nothing.
pub(in crate::bus::rules) fn known_reader<'a>(
    state: &'a State,
    text: &str,
) -> Result<&'a Name, Refusal> {
    let name = known_member(state, text)?;
    if !state.is_bridge_of_host(name) {
        return Ok(name);
    }
    let host = state.live(name).map(|host| host.id);
    let agents = state.live_sessions().into_iter().filter(|live| live.owner == host);
    let agents: Vec<_> =
        agents.map(|agent| &agent.name).take(limits::SHOWN_AGENTS_OF_HOST).collect();
    let lead = state.lead().map(|lead| &lead.name);
    Err(PlacementRefusal::reads_nothing(name.clone(), &agents, lead).into())
}

/// Returns the refusal of a number without a live session. An ended session has no successor: only the name lasts.
fn no_session(state: &State, number: SessionNumber) -> Refusal {
    let mut departed = state.departed().rev();
    let left = departed.find(|left| left.number == Some(number));
    Refusal::NoSession { number, name: left.map(|left| left.name.clone()) }
}

/// Finds the member to whom `me` sends.
pub(in crate::bus::rules) fn recipient<'a>(
    state: &'a State,
    me: &Name,
    text: &str,
) -> Result<&'a Name, Refusal> {
    let unknown = match known_reader(state, text) {
        Ok(name) if name == me => return Err(Refusal::ToYourself { name: me.clone() }),
        Ok(name) => return Ok(name),
        Err(known @ (Refusal::NoSession { .. } | Refusal::Placement(_))) => return Err(known),
        Err(unknown) => unknown,
    };
    let shown: String = text.trim().chars().take(limits::SHOWN_NAME_CHARS).collect();
    Err(match shown.to_ascii_lowercase().as_str() {
        "everyone" | "everybody" | "team" => Refusal::ToAll,
        "user" | "human" => Refusal::ToUser { word: shown },
        "you" | "me" | "self" | "myself" => Refusal::ToYourself { name: me.clone() },
        "bridge" => Refusal::ToBridge,
        _ if shown.contains(',') => Refusal::ToSeveral { text: shown },
        _ => unknown,
    })
}

/// Refuses texts that are empty or too long.
pub(in crate::bus::rules) fn check_body(what: &'static str, body: &Body) -> Result<(), Refusal> {
    let bytes = body.bytes();
    if bytes > limits::MAX_CONTENT_BYTES as u64 {
        return Err(Refusal::TooLong { what, bytes });
    }
    if matches!(body, Body::Text(text) if text.trim().is_empty()) {
        return Err(Refusal::Empty { what });
    }
    Ok(())
}

/// Refuses a message for a full inbox.
pub(in crate::bus::rules) fn check_room(writer: &Writer<'_>, to: &Name) -> Result<(), Refusal> {
    if writer.has_room(to, 1) {
        return Ok(());
    }
    let limit = writer.state.limits().unread;
    let unread = writer.state.member(to).map(|member| member.unread.len());
    let name = to.clone();
    Err(if unread.is_some_and(|unread| unread >= limit) {
        Refusal::InboxFull { name, limit }
    } else {
        Refusal::InboxHeavy { name }
    })
}
