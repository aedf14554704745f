//! A wake that failed: an agent was given its messages in a turn of their own, that turn ended with an error, and they are unread again.
//!
//! The agent is idle then, and nothing wakes it for these messages alone.

use crate::bus::state::{Delivery, Session, State};
use crate::domain::ids::{CallId, TaskId};
use crate::domain::member::Activity;
use crate::domain::text::counted::counted;
use crate::domain::text::visible_letters::quoted;
use crate::view::{Texts, turn_error};

/// The most characters of an error.
const ERROR_CHARS: usize = 200;

/// Says why the last wake of an idle agent failed, if its messages are unread since then: what it could not do, and the error.
pub(super) fn failed_wake(
    state: &State,
    session: &Session,
    texts: &mut dyn Texts,
) -> Option<String> {
    if session.activity != Activity::Idle || !session.queue.is_empty() {
        return None;
    }
    let returned = state.unread(&session.name).filter_map(|message| {
        match message.delivery(&session.name)? {
            Delivery::Unread { last: Some((of, call)) } if of == session.id => Some(call),
            _ => None,
        }
    });
    let returned: Vec<CallId> = returned.collect();
    let last = *returned.iter().max_by_key(|call| call.made_ms())?;
    // A call that brought messages into a turn of a task has no transcript of its own.
    let error = turn_error(&texts.last_of_transcript(&TaskId::of_turn_by(last))?)?;
    let messages = match returned.len() {
        1 => "its message".to_owned(),
        some => format!("its {}", counted(some, "message")),
    };
    Some(format!("could not read {messages}: {}", quoted(&error, ERROR_CHARS)))
}
