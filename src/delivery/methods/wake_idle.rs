//! Wake: a prompt of its own for an idle agent with pending mail. Decides which messages wake, when, and in what words.

use std::collections::BTreeMap;

use tokio::time::Instant;

use crate::bus::LoadedMessage;
use crate::bus::rules::Pick;
use crate::bus::state::{Delivery, Message, State};
use crate::delivery::message_frame::{about_authors, frame};
use crate::delivery::recipient::Reader;
use crate::delivery::thread_context::Mail;
use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::name::Name;
use crate::domain::wait_times;

/// What the model is asked to do with the messages.
fn request(messages: &[LoadedMessage], reader: Reader<'_>) -> String {
    let tool = reader.tool("send_message");
    format!("Answer with {tool} if needed.{}", about_authors(messages))
}

/// The messages of failed wakes, with their state when the wakes began. They are offered again only with other messages, or with a task.
///
/// A message that becomes unread again after the end of its delivery, like that of a reopened request, counts as another message with
/// the same number.
#[derive(Debug, Default)]
pub struct Tried(BTreeMap<MessageId, Delivery>);

impl Tried {
    /// Returns the messages that a wake tries: those in its prompt, and all other unread messages up to the newest, because the prompt
    /// may be full.
    pub fn by(state: &State, name: &Name, messages: &[LoadedMessage], newest: u64) -> Self {
        let received = messages.iter().map(|message| &message.header);
        let newest = received.clone().map(|header| header.seq).fold(newest, u64::max);
        let received = received.filter_map(|header| state.message(&header.id));
        let left = state.unread(name);
        let left = left.filter(|message| message.is_talk() && message.seq <= newest);
        let all = received.chain(left);
        let each = all.filter_map(|message| Some((message.id.clone(), message.delivery(name)?)));
        Self(each.collect())
    }

    /// Adds the messages of another wake.
    pub fn add(&mut self, more: Self) {
        self.0.extend(more.0);
    }

    /// Forgets the messages whose delivery has ended since, so that they count anew if they become unread again.
    pub fn forget_ended(&mut self, state: &State, name: &Name) {
        self.0.retain(|id, before| {
            let message = state.message(id);
            message.is_some_and(|message| is_as_before(*before, message.delivery(name)))
        });
    }

    fn has(&self, message: &Message, name: &Name) -> bool {
        let before = self.0.get(&message.id);
        before.is_some_and(|before| is_as_before(*before, message.delivery(name)))
    }
}

/// Says whether a message has been unread or in flight ever since. One that was in flight and is now unread without any delivery was
/// addressed anew.
fn is_as_before(before: Delivery, now: Option<Delivery>) -> bool {
    let new = Delivery::Unread { last: None };
    match now {
        Some(now) if now == new => before == new,
        Some(now) => !now.is_final(),
        None => false,
    }
}

/// Returns the number of the newest unread message that is worth a turn, without those of failed wakes.
pub fn worth_a_turn(state: &State, name: &Name, tried: &Tried) -> Option<u64> {
    waking(state, name, tried).map(|message| message.seq).max()
}

/// Returns the unread messages that are worth a turn, without those of failed wakes.
pub fn waking<'a>(
    state: &'a State,
    name: &'a Name,
    tried: &'a Tried,
) -> impl Iterator<Item = &'a Message> {
    talk(state, name, tried).filter(|message| message.wakes(name))
}

/// Returns the unread messages that are worth a place in a running turn, without those of failed wakes: also those to a group, which
/// begin no turn of their own.
pub fn talk<'a>(
    state: &'a State,
    name: &'a Name,
    tried: &'a Tried,
) -> impl Iterator<Item = &'a Message> {
    let talk = state.unread(name).filter(|message| message.is_talk());
    talk.filter(|message| !tried.has(message, name))
}

/// Returns when pending mail may wake an agent: at once, unless it was last woken just now.
pub fn due(now: Instant, woken: Option<Instant>) -> Instant {
    woken.map_or(now, |woken| (woken + wait_times::GATHER_MESSAGES).max(now))
}

/// Selects the messages of one wake: as many as fit into a prompt.
pub fn pick(prompt_bytes: usize) -> Pick {
    Pick::any(limits::MAX_CHECK_LIMIT, prompt_bytes, limits::HEAD_BYTES.min(prompt_bytes))
}

/// Writes the prompt that wakes.
pub fn wake_prompt<'m, 'r>(
    introduction: Option<&str>,
    mail: impl Into<Mail<'m>>,
    reader: impl Into<Reader<'r>>,
    more: usize,
) -> String {
    let (mail, reader) = (mail.into(), reader.into());
    let mut parts = Vec::new();
    parts.extend(introduction.map(str::to_owned));
    parts.push(frame(mail, reader, more));
    parts.push(request(mail.messages, reader));
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use std::sync::Arc;

    use super::*;
    use crate::bus::storage::in_memory::Store;
    use crate::bus::{Bus, Claimed, Membership};
    use crate::domain::ids::RequestId;
    use crate::domain::member::Departure;
    use crate::domain::messaging::DeliveryMethod;
    use crate::sys::clock;

    /// Claims a request, and leaves.
    async fn claim_and_leave(membership: Membership, request: &RequestId) {
        let mut call = membership.call();
        let claimed = call.claim(request.clone()).await.unwrap();
        assert!(matches!(claimed, Claimed::Won(_)));
        call.answered().await;
        membership.leave(Departure::Closed).await.unwrap();
    }

    fn newest(bus: &Bus, of: &Membership, tried: &Tried) -> Option<u64> {
        bus.look(|state| worth_a_turn(state, of.name(), tried))
    }

    #[tokio::test]
    async fn a_request_that_was_claimed_before_a_wake_could_bring_it_wakes_when_it_is_open_again() {
        let store = Store::new(Arc::new(clock::now));
        let bus = Bus::open(Box::new(store.log())).unwrap();
        let (ann, bob) = (bus.join_peer("ann").await, bus.join_peer("bob").await);
        let (carl, dora) = (bus.join_peer("carl").await, bus.join_peer("dora").await);
        let hour = Duration::from_hours(1);
        let mut asking = bob.call();
        let opened = asking.open_request("do it".into(), None, hour, hour);
        let request = opened.await.unwrap();
        let mut tried = Tried::default();
        let first = newest(&bus, &ann, &tried);
        let place = first.expect("a request wakes");
        // The wake comes too late: it has received no message, so it has tried none.
        claim_and_leave(carl, &request).await;
        assert_eq!(newest(&bus, &ann, &tried), first, "at its old position");

        // A wake fails with the message in its prompt.
        let mut wake = ann.call();
        let messages = wake.receive(DeliveryMethod::Prompt, pick(10_000)).await.unwrap();
        assert!(!messages.is_empty());
        tried.add(bus.look(|state| Tried::by(state, ann.name(), &messages, place)));
        wake.requeue().await.unwrap();
        bus.look(|state| tried.forget_ended(state, ann.name()));
        assert_eq!(newest(&bus, &ann, &tried), None, "it was tried");
        claim_and_leave(dora, &request).await;
        assert_eq!(newest(&bus, &ann, &tried), first, "it is open again");
        bus.close().await;
    }
}
