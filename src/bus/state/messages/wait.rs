//! A call that waits for a message, and the filter of its wait.

use serde::{Deserialize, Serialize};

use crate::bus::state::Message;
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
    pub fn fits(&self, message: &Message) -> bool {
        message.kind == MessageKind::Shutdown
            || (self.from.as_ref().is_none_or(|from| message.from.member() == Some(from))
                && self.request.as_ref().is_none_or(|id| message.request.as_ref() == Some(id))
                && self.reply_to.as_ref().is_none_or(|id| message.is_answer_to(id)))
    }
}

impl Message {
    /// Says whether it is a member's answer to that message, and no question back, receipt or report of progress.
    fn is_answer_to(&self, asked: &MessageId) -> bool {
        self.reply_to.as_ref() == Some(asked)
            && self.kind != MessageKind::Nudge
            && self.from.member().is_some()
            && self.class().answers()
    }
}
