//! Finds the member that a text names, and checks the texts of messages.

use crate::bus::event::Body;
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::State;
use crate::domain::limits;
use crate::domain::name::{Name, NameError};
use crate::domain::text::suggest::nearest;

/// Finds the member that a text names.
pub fn known_member<'a>(state: &'a State, text: &str) -> Result<&'a Name, Refusal> {
    let name = match Name::parse(text) {
        Ok(name) => Some(name),
        // A malformed name may be a typo, which gets suggestions; a reserved word has its own answer.
        Err(NameError::Malformed(_)) => None,
        Err(NameError::Reserved(word)) if matches!(word.as_str(), "all" | "*") => {
            return Err(Refusal::ToAll);
        }
        Err(reserved) => return Err(reserved.into()),
    };
    let known = name.and_then(|name| state.member(&name));
    known.map(|member| &member.name).ok_or_else(|| {
        let shown: String = text.chars().take(limits::SHOWN_NAME_CHARS).collect();
        let nearest = nearest(&shown, state.names().map(Name::as_str));
        Refusal::UnknownMember { name: shown, nearest }
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
