//! The rare fields of a message: the input of `send_message` beside its text.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::bus::event::Envelope;
use crate::domain::ids::MessageId;
use crate::domain::messaging::{Priority, Signal, Urgency, mentioned, scaled};
use crate::mcp::ToolError;
use crate::mcp::shapes::priority_word::PriorityWord;

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct MoreFields {
    /// For programs; at most 64 KiB.
    #[serde(default)]
    #[schemars(schema_with = "any_object")]
    payload: Option<Map<String, Value>>,
    /// name, type?, `mime_type`?, content or path.
    #[serde(default)]
    #[schemars(schema_with = "any_objects")]
    attachments: Vec<Map<String, Value>>,
    /// 0 to 1, instead of priority.
    urgency: Option<f64>,
    /// Remind who owes the answer after this time.
    response_seconds: Option<u64>,
    /// Expires if unseen by then.
    ttl_seconds: Option<u64>,
    /// What it is about: a path, commit or number.
    r#ref: Option<String>,
    /// Your message whose place it takes.
    supersedes: Option<String>,
    /// If nobody fits the group, wait for the first who does.
    queue: Option<bool>,
    /// Send copies to each @name and @role in content.
    mention: Option<bool>,
}

/// The schema of an object with any fields.
fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "properties": {}, "additionalProperties": true })
}

fn any_objects(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": any_object(generator) })
}

impl MoreFields {
    /// Takes out the attachments, which need a look at the disk.
    pub(super) fn take_attachments(&mut self) -> Vec<Map<String, Value>> {
        std::mem::take(&mut self.attachments)
    }
}

/// Returns the priority of a message, and what it has beside its text, without what is attached.
pub(super) fn envelope(
    content: &str,
    priority: Option<PriorityWord>,
    signal: Option<&str>,
    more: Option<MoreFields>,
) -> Result<(Priority, Option<Box<Envelope>>), ToolError> {
    let refuse = |problem: String| Err(ToolError::Arguments(problem));
    let signal = match signal.map(Signal::parse).transpose() {
        Ok(signal) => signal,
        Err(error) => return refuse(error.to_string()),
    };
    let more = more.unwrap_or_default();
    let exactly = match more.urgency {
        None => None,
        Some(_) if priority.is_some() => {
            return refuse("give `priority` or `urgency`, not both: they are one scale".to_owned());
        }
        Some(number) => match Urgency::new(number) {
            None => {
                return refuse(format!("`urgency` of `more` is {number}; it must be 0 to 1"));
            }
            known => known,
        },
    };
    let (priority, urgency) = scaled(priority.map(Priority::from), exactly, signal.as_ref());
    let is_to_mention = more.mention == Some(true);
    let (mentions, mentioned_sessions) =
        if is_to_mention { mentioned(content) } else { Default::default() };
    let envelope = Envelope {
        origin: None,
        signal,
        urgency,
        payload: more.payload,
        attachments: Vec::new(),
        reference: more.r#ref,
        supersedes: more.supersedes.as_deref().map(MessageId::parse).transpose()?,
        ttl_seconds: more.ttl_seconds,
        response_seconds: more.response_seconds,
        queue: more.queue == Some(true),
        mentions,
        mentioned_sessions,
    };
    Ok((priority, (!envelope.is_empty()).then(|| Box::new(envelope))))
}
