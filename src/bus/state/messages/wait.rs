//! A call that waits for a message, and the filter of its wait.

use serde::{Deserialize, Serialize};

use crate::domain::ids::{CallId, MessageId, RequestId};
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
}
