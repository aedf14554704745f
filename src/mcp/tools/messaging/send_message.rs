//! `send_message`: a message to one member.
//!
//! An orchestrator's model may take a profile for a member, which is then named as what it is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::more_fields::{MoreFields, envelope};
use crate::bus::rules::Refusal;
use crate::bus::{BusError, Outgoing};
use crate::domain::name::Name;
use crate::mcp::shapes::priority_word::PriorityWord;
use crate::mcp::{Caller, Tool, ToolError};

#[derive(Default)]
pub(crate) struct SendMessage {
    /// The profiles from which the caller can start agents.
    pub(crate) profiles: Vec<Name>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// A name from `list_agents`.
    to: String,
    /// At most 1 MiB.
    content: String,
    /// The id of the message or request you answer.
    reply_to: Option<String>,
    /// high and urgent interrupt a working team-mate; default normal.
    priority: Option<PriorityWord>,
    /// What it is for, such as question, `request_review`, answer, ack, `report_progress`, alert, handoff or x-own.
    signal: Option<String>,
    /// Rarely needed.
    more: Option<MoreFields>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The id of your message.
    message_id: String,
    /// Whether it is in the inbox of a live member. If not, it is kept until that name returns.
    delivered: bool,
    /// Its recipients.
    recipients: Vec<Recipient>,
    /// Whether you have just sent the same, so that this is that message.
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
struct Recipient {
    /// The name.
    name: String,
    /// live or absent.
    state: &'static str,
}

impl SendMessage {
    /// Says what to do with a name that only a profile has.
    fn named(&self, error: BusError) -> ToolError {
        if let BusError::Refused(Refusal::UnknownMember { name, .. }) = &error
            && let Ok(name) = Name::parse(name)
            && self.profiles.contains(&name)
        {
            return ToolError::Arguments(format!(
                "`{name}` is a profile, and no agent has that name: start one with assign_task"
            ));
        }
        error.into()
    }
}

impl Tool for SendMessage {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "send_message";
    const DESCRIPTION: &'static str = "Send a message to one team-mate, who reads it at its next \
        step and may answer. To answer a message or deliver a claimed request, give its id as \
        reply_to.";

    async fn run(&self, caller: &mut Caller, input: Input) -> Result<Output, ToolError> {
        let Input { to, content, reply_to, priority, signal, more } = input;
        let (priority, more) = envelope(priority, signal.as_deref(), more)?;
        let message = Outgoing { to, content, reply_to, priority, more };
        let sent = caller.call.send_out(message).await;
        let sent = sent.map_err(|error| self.named(error))?;
        let delivered = sent.recipients.iter().any(|(_, is_live)| *is_live);
        let recipients = sent.recipients.into_iter().map(|(name, is_live)| Recipient {
            name: name.to_string(),
            state: if is_live { "live" } else { "absent" },
        });
        Ok(Output {
            message_id: sent.id.into(),
            delivered,
            recipients: recipients.collect(),
            duplicate: sent.is_double.then_some(true),
        })
    }
}
