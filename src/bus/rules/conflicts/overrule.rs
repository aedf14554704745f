//! The word of the user, which decides a disagreement, also one that is over: the user has the last word.

use super::take_part::{add_readers, end};
use super::told::tell;
use crate::bus::event::{ConflictOverruled, Event};
use crate::bus::rules::event_writer::{Post, Writer};
use crate::bus::rules::notice::{Notice, notice};
use crate::bus::state::{Conflict, ConflictEnding};
use crate::domain::ids::MessageId;
use crate::domain::messaging::{Author, ConflictEnd, ConflictStep, SignalClass};
use crate::domain::name::Name;

/// Says whether words of the user decide a disagreement: all do while it is open, and afterwards those that say that they do.
pub(in crate::bus::rules) fn decides_for_user(conflict: &Conflict, class: SignalClass) -> bool {
    conflict.is_open() || class == SignalClass::Decision
}

/// Posts a message of the user. In a thread with a disagreement that it decides, it goes to both parties.
pub(in crate::bus::rules) fn send_as_human(writer: &mut Writer<'_>, mut post: Post) {
    let (state, thread) = (writer.state, post.thread.clone());
    let conflict = thread.as_ref().and_then(|thread| state.conflict(thread));
    let Some(conflict) = conflict.filter(|conflict| decides_for_user(conflict, post.class()))
    else {
        writer.post(post);
        return;
    };
    add_readers(writer, conflict.names(), &mut post);
    let id = writer.post(post);
    match &conflict.end {
        None => end(writer, &conflict.thread, ConflictEnd::Decided, Author::Human, &id),
        Some(ending) => overrule(writer, conflict, ending, &id),
    }
}

fn overrule(writer: &mut Writer<'_>, conflict: &Conflict, ending: &ConflictEnding, id: &MessageId) {
    let (thread, message) = (conflict.thread.clone(), id.clone());
    writer.push(Event::ConflictOverruled(ConflictOverruled { thread, message }));
    let what = match (ending.how, &ending.by, &ending.message) {
        (ConflictEnd::Decided, Author::Member(name), Some(before)) => notice![
            "the user has overruled the decision of ",
            *name,
            ", ",
            *before,
            ", in the thread of ",
            conflict.thread
        ],
        (ConflictEnd::Decided, Author::Human, Some(before)) => notice![
            "the user has replaced their decision, ",
            *before,
            ", in the thread of ",
            conflict.thread
        ],
        _ => notice![
            "the user has decided the disagreement in the thread of ",
            conflict.thread,
            ", which was over,"
        ],
    };
    let text = |binds: &'static str| -> Notice { what.clone().and(&" with ").and(id).and(&binds) };
    let parties: Vec<_> = conflict.names().collect();
    tell(writer, &parties, &conflict.thread, &text(", which binds you"));
    // Whoever has decided it, or was asked to.
    let asked = match &conflict.step {
        ConflictStep::Arbiter(arbiter) => Some(arbiter),
        _ => None,
    };
    let mut others: Vec<&Name> = asked.into_iter().chain(ending.by.member()).collect();
    others.retain(|name| conflict.party(name).is_none());
    others.dedup();
    tell(writer, &others, &conflict.thread, &text(", which binds them"));
}
