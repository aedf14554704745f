//! Waits for the first answer to a message of the person, and shows it.

use std::time::{Duration, Instant};

use super::act_outcome::{Reply, seconds};
use super::{Ended, Outcome, Steering};
use crate::bus::state::{Message, State};
use crate::cli::Failure;
use crate::domain::ids::MessageId;
use crate::domain::messaging::{Audience, MessageKind};

impl Steering {
    /// Waits until somebody answers a message, as long as that may take. A time that is over is no failure: the message stands.
    pub(super) async fn await_reply(
        &self,
        outcome: Outcome,
        (sent, to): (&MessageId, &Audience),
        limit: Duration,
    ) -> Result<Outcome, Failure> {
        let begun = Instant::now();
        let found = self.until(limit, |state| {
            answers(state, sent).map(|answer| (answer.id.clone(), answer.from.clone(), answer.body))
        });
        let found = found.await?;
        let took = begun.elapsed();
        let Some((id, from, body)) = found else {
            let words = format!(
                "`{to}` has not answered after {}; the message stands, and \
                 `cli-team-bridge messages --thread {sent}` shows what comes",
                seconds(took)
            );
            return Ok(outcome.saying("unanswered", words).after(took));
        };
        let text = self.text(body)?;
        let reply = Reply { message_id: id.to_string(), from: from.to_string(), text };
        Ok(outcome
            .saying("answered", reply.in_words())
            .ended(Ended::Done)
            .with_reply(reply)
            .after(took))
    }
}

/// Returns the first answer to a message.
fn answers<'s>(state: &'s State, sent: &MessageId) -> Option<&'s Message> {
    let is_answer = |message: &&Message| {
        message.reply_to.as_ref() == Some(sent)
            && message.from.member().is_some()
            && message.audience.is_human()
            && message.kind != MessageKind::Nudge
            && message.class().answers()
    };
    state.messages().filter(is_answer).min_by_key(|message| message.seq)
}
