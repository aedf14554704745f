//! What those concerned are told of a disagreement, and shown of its thread.

use super::newest::Newest;
use crate::bus::event::Event;
use crate::bus::rules::event_writer::{Post, Writer};
use crate::bus::rules::notice::{Notice, notice};
use crate::bus::state::{Conflict, Message};
use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::messaging::{Author, ConflictEnd, ConflictStep, MessageKind};
use crate::domain::name::Name;
use crate::domain::wait_times;

/// The minutes of silence after which somebody else decides.
pub(super) const MINUTES: u64 = wait_times::CONFLICT_MS / 60_000;

/// Sends members a notice in the thread.
pub(super) fn tell(writer: &mut Writer<'_>, names: &[&Name], thread: &MessageId, text: &Notice) {
    for name in names {
        if writer.accepts_notice(name) {
            let mut post = Post::notice((*name).clone(), text.clone());
            post.thread = Some(thread.clone());
            writer.post(post);
        }
    }
}

/// Gives somebody the last messages that the parties wrote to each other in the thread, also the newest, which the state does not have
/// yet. What one of them wrote to others, or took back, is theirs.
pub(super) fn show_thread(
    writer: &mut Writer<'_>,
    conflict: &Conflict,
    to: &Name,
    newest: Option<&Newest<'_>>,
) {
    let state = writer.state;
    let is_theirs = |message: &&Message| {
        let is_talk = matches!(message.kind, MessageKind::Message | MessageKind::Response);
        let from = message.from.member().filter(|from| conflict.party(from).is_some());
        let got = |name: &Name| message.delivery(name).is_some_and(|one| !one.ended_unseen());
        is_talk
            && message.thread == conflict.thread
            && from.is_some_and(|from| conflict.names().any(|name| name != from && got(name)))
            && message.delivery(to).is_none()
            && message.from.member() != Some(to)
    };
    let mut shown: Vec<_> = state.messages().filter(is_theirs).collect();
    shown.sort_by_key(|message| message.seq);
    let first = shown.len().saturating_sub(limits::CONFLICT_MESSAGES);
    for message in &shown[first..] {
        let (id, name) = (message.id.clone(), to.clone());
        writer.push(Event::MessageAddressed { id, to: vec![name].into() });
        writer.deliver_to_waits(message, std::slice::from_ref(to));
    }
    if let Some(newest) = newest.filter(|newest| !newest.to.contains(to)) {
        let (id, to) = (newest.id.clone(), vec![to.clone()]);
        writer.push(Event::MessageAddressed { id, to: to.into() });
    }
}

/// Returns a message of the thread that whoever decides has been given: the first one may be of others, and a position stays.
pub(super) fn known(conflict: &Conflict) -> MessageId {
    conflict.parties.first().map_or(&conflict.thread, |party| &party.position).clone()
}

/// Names the parties and the messages that say what they stand for.
pub(super) fn positions(conflict: &Conflict, newest: Option<&Newest<'_>>) -> Notice {
    let mut text = Notice::default();
    for (number, party) in conflict.parties.iter().enumerate() {
        let position = match newest {
            Some(newest) if newest.is_position && *newest.by == party.name => newest.id,
            _ => &party.position,
        };
        let joint = if number == 0 { "" } else { " and " };
        text = text.and(&joint).and(&party.name).and(&" (").and(position).and(&")");
    }
    text.and(&" do not agree")
}

/// Names who is asked to decide.
pub(super) fn asked(conflict: &Conflict) -> String {
    match &conflict.step {
        ConflictStep::Round(_) => "nobody".to_owned(),
        ConflictStep::Arbiter(arbiter) => arbiter.to_string(),
        ConflictStep::Human => "the user".to_owned(),
    }
}

/// Says how a disagreement that is over ended.
pub(super) fn over(conflict: &Conflict) -> Notice {
    let Some(end) = &conflict.end else { return Notice::default() };
    let who = match &end.by {
        Author::Member(name) => notice![*name],
        Author::Human => notice!["the user"],
        // No other project takes part.
        Author::Bridge | Author::Elsewhere(_) => Notice::default(),
    };
    match (end.how, &end.message) {
        (ConflictEnd::Agreed, Some(message)) => notice![", ", who, " agreed with ", *message],
        (ConflictEnd::Decided, Some(message)) => {
            notice![", ", who, " decided it with ", *message]
        }
        _ => notice![", undecided"],
    }
}
