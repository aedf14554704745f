//! `acknowledge`: tells the senders of messages what has become of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bus::AcknowledgedMessage;
use crate::domain::ids::MessageId;
use crate::domain::messaging::Acknowledgement;
use crate::mcp::{Caller, Tool, ToolError};

pub(crate) struct Acknowledge;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Ids of messages to you, at most 100.
    ids: Vec<String>,
    /// Default acked.
    status: Option<Status>,
    /// For their senders; at most 2,000 bytes.
    note: Option<String>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Status {
    Acked,
    Resolved,
    Superseded,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// In the order of `ids`.
    receipts: Vec<Acknowledged>,
}

#[derive(Serialize, JsonSchema)]
struct Acknowledged {
    /// The message.
    id: String,
    /// How far it is now: acked, resolved or superseded. It never goes back.
    status: &'static str,
    /// false: it was as far before, so this call has stored nothing of it, nor the note.
    changed: bool,
}

impl From<Status> for Acknowledgement {
    fn from(status: Status) -> Self {
        match status {
            Status::Acked => Self::Acked,
            Status::Resolved => Self::Resolved,
            Status::Superseded => Self::Superseded,
        }
    }
}

impl From<AcknowledgedMessage> for Acknowledged {
    fn from(message: AcknowledgedMessage) -> Self {
        Self { id: message.id.into(), status: message.status.as_str(), changed: message.is_new }
    }
}

impl Tool for Acknowledge {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "acknowledge";
    const DESCRIPTION: &'static str = "Tell senders that you know of their messages (acked), have \
        dealt with them (resolved), or that something else took their place (superseded). It \
        answers nothing: send_message does.";

    async fn run(&self, caller: &mut Caller, input: Input) -> Result<Output, ToolError> {
        let ids: Result<Vec<_>, _> = input.ids.iter().map(|id| MessageId::parse(id)).collect();
        let status = input.status.map_or(Acknowledgement::Acked, Acknowledgement::from);
        let acknowledged = caller.call.acknowledge(ids?, status, input.note).await?;
        Ok(Output { receipts: acknowledged.into_iter().map(Acknowledged::from).collect() })
    }
}
