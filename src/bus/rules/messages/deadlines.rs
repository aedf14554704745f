//! The deadlines of messages: those that nobody has seen in time expire, and who owes an answer is reminded.

use crate::bus::event::{Body, Event};
use crate::bus::rules::event_writer::{Post, Writer};
use crate::bus::rules::notice::notice;
use crate::bus::state::{AwaitedAnswer, Delivery};
use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::messaging::MessageKind;

/// Ends a message whose time is over wherever it is unread, and notifies its sender.
pub(in crate::bus::rules) fn expire(writer: &mut Writer<'_>, id: &MessageId) {
    let Some(message) = writer.state.message(id) else {
        return;
    };
    let unread = message.deliveries.iter();
    let unread = unread.filter(|(_, delivery)| matches!(delivery, Delivery::Unread { .. }));
    // The timer goes on for those without room in this append.
    let names: Vec<_> =
        unread.map(|(name, _)| name.clone()).take(limits::EXPIRED_AT_ONCE).collect();
    writer.expire(message, &names);
}

/// Reminds who owes an answer, and notifies who awaits it; after some reminders it is no longer awaited.
pub(in crate::bus::rules) fn answer_is_due(writer: &mut Writer<'_>, id: &MessageId) {
    let Some(awaited) = writer.state.awaited_answer(id) else {
        return;
    };
    let AwaitedAnswer { from, to, thread, reminders, .. } = awaited;
    let (done, most) = (u64::from(*reminders), u64::from(limits::ANSWER_REMINDERS));
    if !writer.reaches(to) {
        writer.push(Event::MessageUnanswered { id: id.clone() });
        let text = notice!["nobody answers your message ", *id, ": ", *to, " has left"];
        return writer.notice(from, text);
    }
    if done >= most {
        writer.push(Event::MessageUnanswered { id: id.clone() });
        let text = notice![
            *to,
            " has not answered your message ",
            *id,
            " after ",
            most,
            " reminders: ask somebody else, or go on without an answer"
        ];
        return writer.notice(from, text);
    }
    writer.push(Event::MessageReminded { id: id.clone() });
    let text = format!("{from} waits for your answer to {id}: send_message with reply_to {id}");
    let mut post = Post::new(MessageKind::Nudge, from.clone(), to.clone(), Body::Text(text));
    post.thread = Some(thread.clone());
    if writer.accepts_notice(to) {
        writer.post(post);
    }
    let text = notice![
        *to,
        " has not answered your message ",
        *id,
        " yet and was reminded (",
        done + 1,
        " of ",
        most,
        ")"
    ];
    writer.notice(from, text);
}
