//! The answers that members owe, and the threads that are resolved, as plainly as possible: who is reminded owes one, and not for ever;
//! no thread is resolved by two members without a message in between.

use std::collections::{BTreeMap, BTreeSet};

use crate::bus::event::{Event, MessageSent};
use crate::bus::state::State;
use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::messaging::Audience;
use crate::domain::name::Name;

struct Owed {
    from: Name,
    to: BTreeSet<Name>,
    /// Whether it passes on, from the queue or to the next lead: whoever gets it next has the whole time.
    passes_on: bool,
    reminders: u32,
    /// Whether it was answered, expired, or is awaited no longer.
    is_over: bool,
}

#[derive(Default)]
pub(in crate::bus::model) struct AnswersLedger {
    owed: BTreeMap<MessageId, Owed>,
    resolved: BTreeMap<MessageId, Name>,
}

impl AnswersLedger {
    /// Records an event, and checks that it may follow those before it.
    pub(in crate::bus::model) fn enter(&mut self, event: &Event) {
        match event {
            Event::MessageSent(sent) => {
                if let Some(thread) = sent.reopens() {
                    self.resolved.remove(thread);
                }
                self.sent(sent);
            }
            Event::ThreadResolved(said) => {
                assert!(!said.threads.is_empty());
                for id in &said.threads {
                    let before = self.resolved.insert(id.clone(), said.by.clone());
                    assert!(before.is_none_or(|by| by == said.by), "{id} is resolved already");
                }
            }
            Event::MessageExpired { id, member } => {
                if let Some(owed) = self.owed.get_mut(id) {
                    owed.to.remove(member);
                    owed.is_over |= owed.to.is_empty();
                }
            }
            Event::MessageAddressed { id, to } => {
                if let Some(owed) = self.owed.get_mut(id).filter(|owed| owed.passes_on) {
                    owed.to.extend(to.named().iter().cloned());
                    (owed.reminders, owed.is_over) = (0, false);
                }
            }
            Event::MessageReminded { id } => {
                let owed = self.owed.get_mut(id).expect("its sender awaits an answer");
                assert!(!owed.is_over, "a reminder of what is over");
                owed.reminders += 1;
                assert!(owed.reminders <= limits::ANSWER_REMINDERS);
            }
            Event::MessageUnanswered { id } => {
                let owed = self.owed.get_mut(id).expect("its sender awaits an answer");
                assert!(!owed.is_over, "an end of what is over");
                owed.is_over = true;
            }
            _ => {}
        }
    }

    /// Checks that a state knows of the first messages of threads that it has whether these are resolved.
    pub(in crate::bus::model) fn check(&self, state: &State) {
        for message in state.messages() {
            assert_eq!(message.resolved, self.resolved.contains_key(&message.id), "{}", message.id);
        }
    }

    fn sent(&mut self, sent: &MessageSent) {
        let more = sent.more.as_deref();
        assert!(!sent.class().needs_reply_to() || sent.reply_to.is_some(), "an answer to nothing");
        let answered = sent.reply_to.as_ref().and_then(|id| self.owed.get_mut(id));
        if let Some(owed) = answered
            && sent.from.member().is_some_and(|from| owed.to.contains(from))
            && sent.to.named().contains(&owed.from)
            && sent.class().answers()
        {
            owed.is_over = true;
        }
        let awaits = more.is_some_and(|more| more.response_seconds.is_some());
        if let (Some(more), Some(from)) = (more.filter(|_| awaits), sent.from.member()) {
            let copies = &more.mentions;
            let passes_on =
                more.queue || matches!(&sent.audience, Audience::Group(group) if group.is_lead());
            let debtors = sent.to.named().iter().filter(|name| !copies.contains(name));
            let to = debtors.cloned().collect();
            let owed = Owed { from: from.clone(), to, passes_on, reminders: 0, is_over: false };
            self.owed.insert(sent.id.clone(), owed);
        }
    }
}
