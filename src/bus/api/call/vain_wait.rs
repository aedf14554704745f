//! Waits in vain: for an answer that was given before, or that nobody will give; and circles of waits, which count only if all their
//! processes live.

use super::{Call, WaitFor, Waited};
use crate::bus::api::bus::Bus;
use crate::bus::api::message_text::LoadedMessage;
use crate::bus::error::BusError;
use crate::bus::event::Event;
use crate::bus::rules::{Operation, Refusal};
use crate::bus::shared::Receipt;
use crate::bus::state::{AwaitedReply, Message, Wait};
use crate::domain::ids::MessageId;

/// Why a wait has ended without the answer that it was for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// Its sender has put another message in its place.
    #[error("you have sent `{by}` in the place of `{id}`: wait for the answer to that one")]
    Superseded { id: MessageId, by: MessageId },
    /// Nobody who could answer it has seen it.
    #[error("nobody will answer `{id}`: it expired before it was read")]
    Expired { id: MessageId },
    /// It is not in the project that it was for, and will not be.
    #[error("nobody will answer `{id}`: it was not delivered")]
    NotDelivered { id: MessageId },
}

impl Call {
    /// Begins a wait. Members of a circle may be dead, and their waits over, without anybody having noticed yet.
    pub(super) async fn begin_wait(&mut self, wait: &Operation) -> Result<Receipt, BusError> {
        match self.ask(wait.clone()).await {
            Err(BusError::Refused(Refusal::Circle { .. })) => {
                self.membership.bus().reap_dead_sessions().await?;
                self.ask(wait.clone()).await
            }
            outcome => outcome,
        }
    }

    /// Returns how a wait ends that the rules have refused for what has become of the answer. Other refusals are errors.
    pub(super) async fn refused(
        &self,
        error: BusError,
        what: &WaitFor,
    ) -> Result<Waited, BusError> {
        match &error {
            BusError::Refused(Refusal::AnsweredBefore { .. } | Refusal::NeverAnswered { .. }) => {
                self.vain(what).await?.ok_or(error)
            }
            _ => Err(error),
        }
    }

    /// Returns how a wait for an answer ends that cannot bring it: with the answer that was given before, or with the reason why there is
    /// none.
    pub(super) async fn vain(&self, what: &WaitFor) -> Result<Option<Waited>, BusError> {
        let Some(asked) = &what.reply_to else {
            return Ok(None);
        };
        let (bus, me) = (self.membership.bus(), self.membership.name());
        let WaitFor { from, request, reply_to } = what;
        let wait = Wait::of(self.id, from.as_ref(), request.as_ref(), reply_to.as_ref());
        let is_delivered = bus.look(|state| {
            let asked = state.message(asked);
            let elsewhere = asked.filter(|asked| asked.audience.elsewhere().is_some());
            elsewhere.is_none_or(|asked| state.is_relayed(&asked.id))
        });
        let (given, is_open) = bus.look(|state| match state.awaited_reply(me, &wait, &[]) {
            AwaitedReply::Given(answer) => (Some(answer.clone()), false),
            AwaitedReply::Open => (None, true),
            AwaitedReply::Never => (None, false),
        });
        if let Some(answer) = given {
            return Ok(Some(Waited::Message(Box::new(self.once_more(answer)?))));
        }
        if let Some(by) = self.superseded_by(asked).await? {
            return Ok(Some(Waited::NoAnswer(NoAnswer::Superseded { id: asked.clone(), by })));
        }
        let id = asked.clone();
        let none =
            if is_delivered { NoAnswer::Expired { id } } else { NoAnswer::NotDelivered { id } };
        Ok((!is_open).then_some(Waited::NoAnswer(none)))
    }

    /// Ends a wait for the answer to a message in whose place its sender had put another one before. No header says so, but the log.
    pub(super) async fn end_if_superseded(
        &mut self,
        what: &WaitFor,
        returned: &[MessageId],
    ) -> Result<Option<Waited>, BusError> {
        let Some(id) = &what.reply_to else {
            return Ok(None);
        };
        let Some(by) = self.superseded_by(id).await? else {
            return Ok(None);
        };
        Ok(Some(match self.end_wait(returned).await? {
            Waited::TimedOut => Waited::NoAnswer(NoAnswer::Superseded { id: id.clone(), by }),
            waited => waited,
        }))
    }

    async fn superseded_by(&self, id: &MessageId) -> Result<Option<MessageId>, BusError> {
        let (bus, id) = (self.membership.bus().clone(), id.clone());
        let reading = tokio::task::spawn_blocking(move || bus.superseded_by(&id));
        reading.await.map_err(|_| BusError::Closed)?
    }

    /// Reads an answer that this member was given before.
    fn once_more(&self, answer: Message) -> Result<LoadedMessage, BusError> {
        let room = self.membership.text_room();
        let loaded = self.membership.bus().load_message(answer, self.membership.name(), 0, room)?;
        Ok(LoadedMessage { is_again: true, ..loaded })
    }
}

impl Bus {
    /// Returns the message that the sender of another one has put in its place.
    fn superseded_by(&self, id: &MessageId) -> Result<Option<MessageId>, BusError> {
        let sender = self.look(|state| {
            let before = state.message(id)?;
            // Mostly there is none, which saves reading the log. The header of a message does not keep whose place it takes.
            let may_be_later = |message: &Message| {
                message.more.is_some() && message.seq > before.seq && message.from == before.from
            };
            state.messages().any(may_be_later).then(|| before.from.clone())
        });
        let Some(sender) = sender else {
            return Ok(None);
        };
        let mut found = None;
        self.entries_with_any(&[&id.to_string()], |_, entry| {
            for event in entry.events {
                if let Event::MessageSent(sent) = event
                    && sent.from == sender
                    && sent.more.is_some_and(|more| more.supersedes.as_ref() == Some(id))
                {
                    found = Some(sent.id);
                }
            }
        })?;
        Ok(found)
    }
}
