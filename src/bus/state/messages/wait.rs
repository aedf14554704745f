//! A call that waits for a message, the filter of its wait, and whether the answer that it is for may still come.

use serde::{Deserialize, Serialize};

use crate::bus::state::{Message, State};
use crate::domain::ids::{CallId, MessageId, RequestId};
use crate::domain::messaging::MessageKind;
use crate::domain::name::Name;

/// A call that waits for a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    pub call: CallId,
    /// Only from this member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Name>,
    /// Only about this request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
    /// Only an answer to this message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
}

impl Wait {
    /// Makes a wait from what a command or an event says of it.
    pub(in crate::bus) fn of(
        call: CallId,
        from: Option<&Name>,
        request: Option<&RequestId>,
        reply_to: Option<&MessageId>,
    ) -> Self {
        Self { call, from: from.cloned(), request: request.cloned(), reply_to: reply_to.cloned() }
    }

    /// Says whether a message ends the wait. A shutdown ends every wait.
    pub fn fits(&self, state: &State, message: &Message) -> bool {
        message.kind == MessageKind::Shutdown
            || (self.from.as_ref().is_none_or(|from| message.from.member() == Some(from))
                && self.request.as_ref().is_none_or(|id| message.request.as_ref() == Some(id))
                && self.reply_to.as_ref().is_none_or(|id| state.is_answer(message, id)))
    }
}

/// How it stands with the answer that a wait is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AwaitedReply<'a> {
    /// Somebody may still give one.
    Open,
    /// All who were asked have answered; this is the last answer.
    Given(&'a Message),
    /// Nobody will: all who were asked and have not answered will never see the question.
    Never,
}

impl State {
    /// Says how it stands with the answer that a wait of this member is for, if these others give none any more.
    pub(in crate::bus) fn awaited_reply(
        &self,
        me: &Name,
        wait: &Wait,
        others: &[Name],
    ) -> AwaitedReply<'_> {
        let Some(asked) = wait.reply_to.as_ref().and_then(|id| self.messages.get(id)) else {
            return AwaitedReply::Open;
        };
        let request = asked.request.as_ref().and_then(|id| self.requests.get(id));
        let is_unanswered = request.is_some_and(|request| !request.status.is_final());
        if self.is_promised(&asked.id) || is_unanswered {
            return AwaitedReply::Open;
        }
        let given: Vec<&Message> = self
            .messages
            .values()
            .filter(|message| message.kind != MessageKind::Shutdown && wait.fits(self, message))
            .filter(|message| message.delivery(me).is_some_and(|delivery| !delivery.ended_unseen()))
            .collect();
        let has_answered =
            |name: &Name| given.iter().any(|message| message.from.member() == Some(name));
        let mut still = asked.deliveries.iter().filter(|(name, delivery)| {
            asked.asks(name)
                && wait.from.as_ref().is_none_or(|from| from == *name)
                && !others.contains(name)
                && !delivery.ended_unseen()
                && !has_answered(name)
        });
        if still.next().is_some() {
            return AwaitedReply::Open;
        }
        let last = given.into_iter().max_by_key(|message| message.seq);
        last.map_or(AwaitedReply::Never, AwaitedReply::Given)
    }

    /// Says whether a message is the answer to another one: of a member that was asked, and no question back, receipt or report of
    /// progress.
    pub fn is_answer(&self, message: &Message, asked: &MessageId) -> bool {
        message.reply_to.as_ref() == Some(asked)
            && message.kind != MessageKind::Nudge
            && message.class().answers()
            && message.from.member().is_some_and(|from| self.was_asked(asked, from))
    }

    /// Says whether a message asks a member, as far as anything is known of it.
    pub(in crate::bus) fn was_asked(&self, id: &MessageId, name: &Name) -> bool {
        match (self.messages.get(id), self.awaited.get(id)) {
            (Some(message), _) => message.asks(name),
            (None, Some(awaited)) => awaited.to.contains(name),
            (None, None) => true,
        }
    }
}
