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

    /// Notes a question, and ends the one that a message answers. Beyond a limit the oldest is only a message any more.
    pub(in crate::bus::state) fn note_question(&mut self, sent: &MessageSent) {
        if let Some(asked) = &sent.reply_to
            && self.asks_user(asked)
            && self.message(&sent.id).is_some_and(|message| self.is_answer(message, asked))
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
                self.user_questions.pop_front();
            }
        }
    }

    pub(in crate::bus::state) fn forget_question(&mut self, id: &MessageId) {
        self.user_questions.retain(|question| question != id);
    }
}
