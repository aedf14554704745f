//! Context: what the reader of a message has sent or got of its thread before its present conversation, which knows nothing of that.
//!
//! The earlier messages stand in the frame before the message that goes on with them. A thread of which this conversation has had a
//! message needs none.

use std::collections::{BTreeMap, BTreeSet};

use crate::bus::state::{Delivery, Message, State};
use crate::bus::{Bus, BusError, LoadedMessage};
use crate::domain::ids::MessageId;
use crate::domain::name::Name;

/// The most earlier messages before one: enough to see what a thread is about.
const MOST_MESSAGES: usize = 10;
/// The most bytes of all earlier messages in a frame: half of what stands in front of a task.
const MOST_BYTES: usize = 8 * 1024;
/// What the line of an earlier message has beside its text, and the least room that is worth one.
const LINE_BYTES: usize = 128;

/// What stands before one message.
#[derive(Clone, Debug, Default)]
pub struct Before {
    /// Oldest first.
    pub messages: Vec<LoadedMessage>,
    /// How many still earlier ones are left out.
    pub left_out: usize,
}

/// What stands before which message.
#[derive(Clone, Debug, Default)]
pub struct Earlier(pub BTreeMap<MessageId, Before>);

/// Messages for a frame.
#[derive(Clone, Copy, Debug)]
pub struct Mail<'m> {
    pub messages: &'m [LoadedMessage],
    pub earlier: Option<&'m Earlier>,
}

impl<'m, M: AsRef<[LoadedMessage]> + ?Sized> From<&'m M> for Mail<'m> {
    fn from(messages: &'m M) -> Self {
        Self { messages: messages.as_ref(), earlier: None }
    }
}

impl<'m> Mail<'m> {
    /// Returns what stands before a message.
    pub(super) fn before(self, message: &LoadedMessage) -> Option<&'m Before> {
        self.earlier?.0.get(&message.header.id)
    }

    /// Returns all messages of the frame.
    pub(super) fn all(self) -> impl Iterator<Item = &'m LoadedMessage> {
        let earlier = self.earlier.into_iter().flat_map(|earlier| earlier.0.values());
        self.messages.iter().chain(earlier.flat_map(|before| &before.messages))
    }
}

impl Earlier {
    /// Reads what stands before these messages, for a reader whose conversation began at this number of the log. It reads files, and so
    /// belongs on a thread that may wait. What cannot be read is left out.
    pub fn of(bus: &Bus, reader: &Name, messages: &[Message], began_seq: u64) -> Self {
        let brought: BTreeSet<_> = messages.iter().map(|message| message.id.clone()).collect();
        let (mut told, mut room) = (BTreeSet::new(), MOST_BYTES);
        let mut earlier = Self::default();
        for message in messages {
            let may_be = bus.look(|state| may_be_older(state, message, began_seq));
            if !may_be || !told.insert(message.thread.clone()) {
                continue;
            }
            match before(bus, reader, (message, &brought), began_seq, &mut room) {
                Ok(before) if before.messages.is_empty() => {}
                Ok(before) => drop(earlier.0.insert(message.id.clone(), before)),
                Err(error) => {
                    tracing::debug!("failed to read the thread of {}: {error}", message.id);
                }
            }
        }
        earlier
    }
}

/// Says whether the thread of a message may be older than a conversation, as far as the state knows.
fn may_be_older(state: &State, message: &Message, began_seq: u64) -> bool {
    let first = state.message(&message.thread);
    message.thread != message.id && first.is_none_or(|first| first.seq < began_seq)
}

fn before(
    bus: &Bus,
    reader: &Name,
    (message, brought): (&Message, &BTreeSet<MessageId>),
    began_seq: u64,
    room: &mut usize,
) -> Result<Before, BusError> {
    let (mut thread, _) = bus.thread_history(None, &message.thread, reader, usize::MAX)?;
    // What is unread or in flight comes by itself.
    bus.look(|state| {
        thread.retain(|one| {
            let delivery = state.message(&one.id).and_then(|known| known.delivery(reader));
            one.seq < message.seq
                && !brought.contains(&one.id)
                && delivery.is_none_or(Delivery::is_seen)
        });
    });
    let known = thread.len();
    let mut messages = Vec::new();
    for one in newest_before(thread, began_seq).into_iter().rev() {
        if *room < LINE_BYTES {
            break;
        }
        let loaded = bus.load_message(one, reader, 0, *room)?;
        *room = room.saturating_sub(loaded.text.len() + LINE_BYTES);
        messages.push(loaded);
    }
    messages.reverse();
    let left_out = if messages.is_empty() { 0 } else { known - messages.len() };
    Ok(Before { messages, left_out })
}

/// Returns the newest messages of a thread, oldest first: none if one of them was sent in the conversation.
fn newest_before(thread: Vec<Message>, began_seq: u64) -> Vec<Message> {
    if thread.iter().any(|one| one.seq >= began_seq) {
        return Vec::new();
    }
    let left_out = thread.len().saturating_sub(MOST_MESSAGES);
    thread.into_iter().skip(left_out).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bus::Membership;
    use crate::bus::rules::Pick;
    use crate::bus::storage::in_memory::Store;
    use crate::domain::messaging::DeliveryMethod;
    use crate::sys::clock;

    async fn says(
        from: &Membership,
        to: &str,
        text: &str,
        reply_to: Option<&MessageId>,
    ) -> MessageId {
        let reply_to = reply_to.map(ToString::to_string);
        from.call().send(to.into(), text.into(), reply_to).await.unwrap().id
    }

    /// Reads all unread messages, and proves that.
    async fn reads(reader: &Membership) -> Vec<Message> {
        let mut call = reader.call();
        let pick = Pick::any(500, usize::MAX, usize::MAX);
        let read = call.receive(DeliveryMethod::Pull, pick).await.unwrap();
        call.answered().await;
        reader.call().answered().await;
        read.into_iter().map(|message| message.header).collect()
    }

    fn texts(earlier: &Earlier) -> Vec<Vec<&str>> {
        let before = earlier.0.values();
        before
            .map(|one| one.messages.iter().map(|message| message.text.as_str()).collect())
            .collect()
    }

    fn next_seq(bus: &Bus) -> u64 {
        *bus.changes().borrow()
    }

    #[tokio::test]
    async fn a_new_conversation_is_told_what_its_reader_sent_and_got_of_an_old_thread_and_once() {
        let store = Store::new(Arc::new(clock::now));
        let bus = Bus::open(Box::new(store.log())).unwrap();
        let (ann, bob, cay) =
            (bus.join_peer("ann").await, bus.join_peer("bob").await, bus.join_peer("cay").await);
        let first = says(&ann, "bob", "which colour?", None).await;
        reads(&bob).await;
        let second = says(&bob, "ann", "green", Some(&first)).await;
        let aside = says(&ann, "cay", "green, it seems", Some(&second)).await;
        says(&cay, "ann", "a secret of ann and cay", Some(&aside)).await;

        let began = next_seq(&bus);
        says(&ann, "bob", "are you sure?", Some(&second)).await;
        says(&ann, "bob", "hello", None).await;
        let brought = reads(&bob).await;
        let earlier = Earlier::of(&bus, bob.name(), &brought, began);
        assert_eq!(texts(&earlier), [["which colour?", "green"]]);
        assert_eq!(texts(&Earlier::of(&bus, bob.name(), &brought, 0)), Vec::<Vec<&str>>::new());

        // Now this conversation knows the thread.
        says(&ann, "bob", "quite sure?", Some(&second)).await;
        let brought = reads(&bob).await;
        assert!(Earlier::of(&bus, bob.name(), &brought, began).0.is_empty());
        bus.close().await;
    }

    #[tokio::test]
    async fn of_a_long_thread_the_newest_messages_are_told_as_many_as_have_room() {
        let store = Store::new(Arc::new(clock::now));
        let bus = Bus::open(Box::new(store.log())).unwrap();
        let (ann, bob) = (bus.join_peer("ann").await, bus.join_peer("bob").await);
        let first = says(&ann, "bob", "0", None).await;
        for number in 1..15 {
            says(&ann, "bob", &number.to_string(), Some(&first)).await;
        }
        reads(&bob).await;
        let began = next_seq(&bus);
        says(&ann, "bob", "now", Some(&first)).await;
        let brought = reads(&bob).await;
        let earlier = Earlier::of(&bus, bob.name(), &brought, began);
        assert_eq!(texts(&earlier), [["5", "6", "7", "8", "9", "10", "11", "12", "13", "14"]]);
        let before = earlier.0.values().next().unwrap();
        assert_eq!(before.left_out, 5);

        let long = "x".repeat(5_000);
        let first = says(&ann, "bob", &long, None).await;
        says(&ann, "bob", &long, Some(&first)).await;
        reads(&bob).await;
        let began = next_seq(&bus);
        says(&ann, "bob", "now", Some(&first)).await;
        let earlier = Earlier::of(&bus, bob.name(), &reads(&bob).await, began);
        let bytes: usize = texts(&earlier)[0].iter().map(|text| text.len()).sum();
        assert!(bytes > 5_000 && bytes <= MOST_BYTES, "{bytes}");
        bus.close().await;
    }
}
