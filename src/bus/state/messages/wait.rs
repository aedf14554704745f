//! A call that waits for a message, and the filter of its wait.

use serde::{Deserialize, Serialize};

use crate::bus::state::Message;
use crate::domain::ids::{CallId, RequestId};
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
}

impl Wait {
    /// Says whether a message ends the wait. A shutdown ends every wait.
    pub fn fits(&self, message: &Message) -> bool {
        message.kind == MessageKind::Shutdown
            || (self.from.as_ref().is_none_or(|from| message.from.member() == Some(from))
                && self
                    .request
                    .as_ref()
                    .is_none_or(|request| message.request.as_ref() == Some(request)))
    }
}
