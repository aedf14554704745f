//! The deadlines of messages: those that nobody has seen in time expire, and who owes an answer is reminded.

use std::collections::{BTreeMap, BTreeSet};

use crate::bus::event::{Body, Event};
use crate::bus::rules::event_writer::{Post, Writer};
use crate::bus::rules::notice::{Notice, notice};
use crate::bus::state::{AwaitedAnswer, Delivery, Message};
use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::messaging::{Audience, Group, MessageKind};
use crate::domain::name::Name;

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
    let (from, debtor) = (&awaited.from, debtor(awaited));
    let (done, most) = (u64::from(awaited.reminders), u64::from(limits::ANSWER_REMINDERS));
    if awaited.audience.is_human() && writer.state.live(from).is_none() {
        // Its question to the user is over: there is nobody to get the answer.
        return writer.push(Event::MessageUnanswered { id: id.clone() });
    }
    let is_elsewhere = awaited.audience.elsewhere().is_some();
    if !is_elsewhere && !awaited.to.iter().any(|name| writer.reaches(name)) {
        writer.push(Event::MessageUnanswered { id: id.clone() });
        let gone = match &awaited.audience {
            Audience::One(name) => notice![*name, " has left"],
            _ => notice!["who got it has left"],
        };
        return writer.notice(from, notice!["nobody answers your message ", *id, ": ", gone]);
    }
    if done >= most {
        writer.push(Event::MessageUnanswered { id: id.clone() });
        // Nobody in another project is reminded.
        let after =
            if is_elsewhere { Notice::default() } else { notice![" after ", most, " reminders"] };
        let text = notice![
            debtor,
            " answered your message ",
            *id,
            after,
            ": ask somebody else, or go on without an answer"
        ];
        return writer.notice(from, text);
    }
    writer.push(Event::MessageReminded { id: id.clone() });
    remind(writer, awaited, id);
    let text = notice![
        debtor,
        " answered your message ",
        *id,
        if is_elsewhere { " yet; you are told " } else { " yet; reminded " },
        done + 1,
        " of ",
        most,
        " times"
    ];
    writer.notice(from, text);
}

/// Withdraws the reminders of the answer that a message gives, wherever they are unread.
pub(in crate::bus::rules) fn settle_nudges(writer: &mut Writer<'_>, me: &Name, post: &Post) {
    let Some(asked) = post.reply_to.as_ref().filter(|_| post.class().answers()) else {
        return;
    };
    let awaited = writer.state.awaited_answer(asked);
    let settles = awaited.is_some_and(|awaited| {
        post.to.contains(&awaited.from) && writer.state.was_asked(asked, me)
    });
    if settles {
        withdraw_all_nudges(writer, asked);
    }
}

/// Withdraws the reminders of the answer to a message, wherever they are unread.
pub(in crate::bus::rules) fn withdraw_all_nudges(writer: &mut Writer<'_>, asked: &MessageId) {
    if let Some(awaited) = writer.state.awaited_answer(asked) {
        withdraw_nudges(writer, asked, &awaited.to);
    }
}

/// Begins the sentence that there is no answer.
fn debtor(awaited: &AwaitedAnswer) -> Notice {
    match &awaited.audience {
        Audience::One(name) => notice![*name, " has not"],
        Audience::All => notice!["nobody has"],
        Audience::Group(Group::Human) => notice!["the user has not"],
        Audience::Group(group) => notice!["nobody of ", *group, " has"],
        Audience::Elsewhere(address) => notice![**address, " has not"],
    }
}

/// Reminds those who have the message, in place of an earlier reminder that they have not read. It wakes whom the message itself may wake.
/// Whose inbox is full gets none: what a member asks for fills no inbox above its limit.
fn remind(writer: &mut Writer<'_>, awaited: &AwaitedAnswer, id: &MessageId) {
    let AwaitedAnswer { from, audience, to, thread, .. } = awaited;
    let replaced = withdraw_nudges(writer, id, to);
    let has_room = |name: &Name| replaced.contains(name) || writer.has_room(name, 1);
    let gets = |name: &&Name| writer.reaches(name) && has_room(name);
    let to: Vec<_> = to.iter().filter(gets).cloned().collect();
    if to.is_empty() {
        return;
    }
    let whose = if audience.is_human() { "the answer of your user" } else { "your answer" };
    let text = format!("{from} waits for {whose} to {id}: send_message with reply_to {id}");
    let mut post = Post::new(MessageKind::Nudge, from.clone(), from.clone(), Body::Text(text));
    (post.audience, post.to) = (audience.clone(), to);
    (post.reply_to, post.thread) = (Some(id.clone()), Some(thread.clone()));
    post.quiet = writer.state.message(id).is_some_and(|message| message.quiet);
    writer.post(post);
}

/// Withdraws the reminders of an awaited answer wherever these members have them unread, and returns who had one.
pub(in crate::bus::rules) fn withdraw_nudges(
    writer: &mut Writer<'_>,
    asked: &MessageId,
    debtors: &[Name],
) -> BTreeSet<Name> {
    let is_nudge = |message: &&Message| {
        message.kind == MessageKind::Nudge && message.reply_to.as_ref() == Some(asked)
    };
    let mut unread: BTreeMap<MessageId, Vec<Name>> = BTreeMap::new();
    for name in debtors {
        for nudge in writer.state.unread(name).filter(is_nudge) {
            unread.entry(nudge.id.clone()).or_default().push(name.clone());
        }
    }
    let had = unread.values().flatten().cloned().collect();
    for (id, members) in unread {
        writer.push(Event::MessageSuperseded { id, members: members.into() });
    }
    had
}
