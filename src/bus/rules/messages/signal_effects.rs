//! What a message does beside arriving, by the class of its signal.

use std::collections::BTreeMap;

use super::acknowledge::{acknowledge, is_on_its_way};
use super::deadlines::withdraw_all_nudges;
use crate::bus::event::{Envelope, Event};
use crate::bus::rules::event_writer::{Post, Writer};
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::{Message, Session};
use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::messaging::{Acknowledgement, Audience, MessageKind, Signal, SignalClass};
use crate::domain::name::Name;
use crate::domain::wait_times;

/// Adds what the class of a signal has where its sender does not say.
pub(in crate::bus::rules) fn completed(envelope: &Envelope) -> Envelope {
    let mut envelope = envelope.clone();
    // Only what arrives from another project has one.
    envelope.origin = None;
    let class = envelope.signal.as_ref().map(Signal::class);
    if class.is_some_and(SignalClass::wants_answer) {
        envelope.response_seconds.get_or_insert(wait_times::DEFAULT_RESPONSE_SECONDS);
    }
    envelope
}

/// Refuses one more message that awaits an answer, above the limit of a member.
pub(in crate::bus::rules) fn check_awaited(
    writer: &Writer<'_>,
    me: &Name,
    post: &Post,
) -> Result<(), Refusal> {
    let awaits = post.more.as_ref().is_some_and(|more| more.response_seconds.is_some());
    let to_user = writer.state.questions_for_user();
    let open = to_user.filter(|asked| asked.from.member() == Some(me)).count();
    if awaits && post.audience.is_human() && open >= limits::USER_QUESTIONS_OF_ONE {
        return Err(Refusal::TooManyForUser { open });
    }
    let limit = limits::MAX_AWAITED_ANSWERS;
    if awaits && writer.state.answers_awaited_by(me) >= limit {
        return Err(Refusal::TooManyAwaited { limit });
    }
    Ok(())
}

/// Says whether a message wants an answer, and of this member.
fn asks(writer: &Writer<'_>, id: &MessageId, name: &Name) -> bool {
    writer.state.message(id).is_some_and(|asked| {
        let wants = asked.more.as_ref().is_some_and(|more| more.response_seconds.is_some());
        wants && asked.asks(name)
    })
}

/// Says whether a message answers another one for good, and to who asked.
fn answers_as_well(writer: &Writer<'_>, post: &Post, asked: &MessageId) -> bool {
    let expires = post.more.as_ref().is_some_and(|more| more.ttl_seconds.is_some());
    let by = writer.state.message(asked).and_then(|asked| asked.from.member());
    post.reply_to.as_ref() == Some(asked)
        && post.class().answers()
        && !expires
        && by.is_none_or(|by| post.to.contains(by))
}

/// Refuses an answer that would expire: it settles the question, whether or not it is read.
pub(in crate::bus::rules) fn check_answer_lasts(
    writer: &Writer<'_>,
    me: &Name,
    post: &Post,
) -> Result<(), Refusal> {
    let expires = post.more.as_ref().is_some_and(|more| more.ttl_seconds.is_some());
    match &post.reply_to {
        Some(asked) if expires && post.class().answers() && asks(writer, asked, me) => {
            Err(Refusal::LastsForGood)
        }
        _ => Ok(()),
    }
}

/// Withdraws the message whose place another one of the same sender takes, wherever it is unread.
pub(in crate::bus::rules) fn supersede(
    writer: &mut Writer<'_>,
    me: &Name,
    post: &Post,
) -> Result<(), Refusal> {
    let Some(id) = post.more.as_ref().and_then(|more| more.supersedes.as_ref()) else {
        return Ok(());
    };
    let before = writer.state.message(id).filter(|message| message.is_visible_to(me));
    let before = before.ok_or_else(|| Refusal::UnknownMessage { id: id.clone() })?;
    let is_talk = matches!(before.kind, MessageKind::Message | MessageKind::Response);
    if before.from.member() != Some(me) || !is_talk {
        return Err(Refusal::NotYourMessage { id: id.clone() });
    }
    // It has ended the request, which nothing does again.
    if before.kind == MessageKind::Response && before.request.is_some() {
        return Err(Refusal::LastsForGood);
    }
    // Whoever has not seen the old one gets the new one.
    if !is_same_address(&before.audience, &post.audience) {
        return Err(Refusal::ReplacesForOthers { id: id.clone(), to: before.audience.clone() });
    }
    let conflict = writer.state.conflict(&before.thread);
    let is_disputed = writer.state.message(&before.thread).is_some_and(|first| first.disputed);
    let takes_side = matches!(before.class(), SignalClass::Position | SignalClass::Decision);
    if conflict.is_some_and(|conflict| conflict.rests_on(id)) || (is_disputed && takes_side) {
        return Err(Refusal::LastsForGood);
    }
    // An answer has settled a question: what takes its place answers the same one.
    if let Some(asked) = &before.reply_to
        && before.class().answers()
        && asks(writer, asked, me)
        && !answers_as_well(writer, post, asked)
    {
        return Err(Refusal::ReplacesAnswer { answer: id.clone(), asked: asked.clone() });
    }
    if writer.state.is_promised(id) {
        writer.push(Event::MessageUnclaimed { id: id.clone() });
    }
    writer.supersede(id);
    // Its answer is no longer awaited, even by who has seen it.
    writer.end_waits_for(id, |_, _| true);
    withdraw_all_nudges(writer, id);
    Ok(())
}

/// Says whether two messages were sent to the same: neither case nor, in a word, a plural s counts.
fn is_same_address(one: &Audience, other: &Audience) -> bool {
    one == other || one.group().zip(other.group()).is_some_and(|(one, other)| one.is_same(other))
}

/// Does what the class of the signal of a message does, before the message itself.
pub(in crate::bus::rules) fn take_effect(
    writer: &mut Writer<'_>,
    me: &Session,
    post: &Post,
) -> Result<(), Refusal> {
    match post.class() {
        SignalClass::Receipt => {
            let acked = post.reply_to.as_ref().map(|id| acked_by(writer, me, post, id));
            let acked = acked.unwrap_or_default();
            if acked.is_empty() {
                return Ok(());
            }
            acknowledge(writer, me.id, &acked, (Acknowledgement::Acked, None))
        }
        SignalClass::Progress => {
            supersede_progress(writer, post);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Returns the messages that a receipt acknowledges: the one that it replies to, or the answers to that one if it is the sender's own.
/// Those that its sender cannot have had yet are not among them.
fn acked_by(writer: &Writer<'_>, me: &Session, post: &Post, id: &MessageId) -> Vec<MessageId> {
    let state = writer.state;
    let goes_on = |message: &Message| {
        message.delivery(&me.name).is_some_and(|delivery| {
            delivery.goes_on_to(Acknowledgement::Acked) && !is_on_its_way(writer, delivery)
        })
    };
    let Some(replied) = state.message(id) else {
        return Vec::new();
    };
    if replied.from.member() != Some(&me.name) {
        return if goes_on(replied) { vec![id.clone()] } else { Vec::new() };
    }
    let in_flight = me.in_flight.values().flatten();
    let unread = state.unread(&me.name).map(|message| &message.id);
    let recent = state.ended_messages.iter().rev().chain(in_flight).chain(unread);
    let recent = recent.filter_map(|id| state.message(id));
    let answers = recent.filter(|message| {
        let by = message.from.member();
        message.reply_to.as_ref() == Some(id)
            && by.is_some_and(|by| post.to.contains(by))
            && goes_on(message)
    });
    let mut answers: Vec<_> = answers.map(|message| message.id.clone()).collect();
    answers.sort();
    answers.dedup();
    answers.truncate(limits::ACKNOWLEDGED_AT_ONCE);
    answers
}

/// Withdraws the sender's last report of progress in the thread wherever a recipient of the new one, which says more, has it unread.
pub(in crate::bus::rules) fn supersede_progress(writer: &mut Writer<'_>, post: &Post) {
    let Some(thread) = &post.thread else {
        return;
    };
    let is_earlier = |message: &&Message| {
        message.class() == SignalClass::Progress
            && message.thread == *thread
            && message.from == post.from
    };
    let mut earlier: BTreeMap<MessageId, Vec<Name>> = BTreeMap::new();
    for to in &post.to {
        for message in writer.state.unread(to).filter(is_earlier) {
            earlier.entry(message.id.clone()).or_default().push(to.clone());
        }
    }
    for (id, members) in earlier {
        writer.push(Event::MessageSuperseded { id, members: members.into() });
    }
}
