//! The questions that members have put to the user: open until somebody answers them, or nobody needs to.

use crate::bus::event::MessageSent;
use crate::bus::state::{Message, State};
use crate::domain::ids::MessageId;
use crate::domain::limits;

impl State {
    /// Returns the messages that want an answer of the user, oldest first.
    pub fn questions_for_user(&self) -> impl Iterator<Item = &Message> {
        self.user_questions.iter().filter_map(|id| self.message(id))
    }

    /// Says whether a message wants an answer of the user.
    pub fn asks_user(&self, id: &MessageId) -> bool {
        self.user_questions.contains(id)
    }

    /// Says whether a message wants an answer of the user, and the member that asks is here to get it.
    pub fn waits_for_user(&self, id: &MessageId) -> bool {
        let asker = || self.message(id)?.from.member();
        self.asks_user(id) && asker().is_some_and(|asker| self.live(asker).is_some())
    }

    /// Notes a question, and ends the one that a message answers. Beyond a limit one is only a message any more.
    pub(in crate::bus::state) fn note_question(&mut self, sent: &MessageSent) {
        if let Some(asked) = &sent.reply_to
            && self.asks_user(asked)
            && self.message(&sent.id).is_some_and(|message| self.answers_question(message, asked))
        {
            self.forget_question(asked);
        }
        let replaced = sent.more.as_ref().and_then(|more| more.supersedes.as_ref());
        if let Some(before) = replaced.and_then(|id| self.message(id))
            && before.from == sent.from
        {
            let id = before.id.clone();
            self.forget_question(&id);
        }
        let wants_answer = sent.more.as_ref().is_some_and(|more| more.response_seconds.is_some());
        if sent.audience.is_human() && wants_answer {
            self.user_questions.push_back(sent.id.clone());
            while self.user_questions.len() > limits::USER_QUESTIONS {
                self.forget_a_question();
            }
        }
    }

    /// Says whether a message answers a question of the user, and its asker gets it.
    fn answers_question(&self, message: &Message, asked: &MessageId) -> bool {
        let from = self.message(asked).and_then(|question| question.from.member());
        from.is_some_and(|name| message.delivery(name).is_some()) && self.is_answer(message, asked)
    }

    /// Forgets the oldest question of a member that has left, else the oldest of all.
    fn forget_a_question(&mut self) {
        let is_gone = |id: &MessageId| {
            let asker = self.message(id).and_then(|message| message.from.member());
            asker.is_none_or(|asker| self.live(asker).is_none())
        };
        let place = self.user_questions.iter().position(is_gone).unwrap_or_default();
        self.user_questions.remove(place);
    }

    pub(in crate::bus::state) fn forget_question(&mut self, id: &MessageId) {
        self.user_questions.retain(|question| question != id);
    }
}
