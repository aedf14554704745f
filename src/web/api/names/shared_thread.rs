//! The context of an agent message: its conversation, which is a thread, and what it is about.

use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::bus::rules::Refusal;
use crate::bus::{BusError, Membership};
use crate::domain::ids::{MessageId, RequestId};
use crate::web::api::writing::why_not;
use crate::web::problem::Problem;

/// Where a message belongs. Nothing is looked up for it: what its reader knows of the conversation stands in the thread.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the specification names them so")]
pub(in crate::web::api) struct MessageContext {
    /// The conversation that it goes on with: a message or request in it. Without this and the others it begins one.
    conversation_id: Option<String>,
    /// The message in it that it follows.
    parent_message_id: Option<String>,
    /// What the message is about: its `ref`.
    pub(super) issue_id: Option<String>,
    /// For its readers: its payload has this as `context`.
    project_id: Option<String>,
    /// Likewise.
    sprint_id: Option<String>,
}

impl MessageContext {
    /// Returns what stands in the payload.
    pub(super) fn payload(&self) -> Map<String, Value> {
        let fields = [("project_id", &self.project_id), ("sprint_id", &self.sprint_id)];
        let given: Map<_, _> = fields
            .into_iter()
            .filter_map(|(field, id)| Some((field.to_owned(), json!(id.as_ref()?))))
            .collect();
        let context = (!given.is_empty()).then(|| ("context".to_owned(), Value::Object(given)));
        context.into_iter().collect()
    }
}

/// Returns what a message replies to: what it answers, else what it follows, else its conversation. All of them are one thread.
pub(super) async fn thread_of(
    me: &Membership,
    answered: Option<String>,
    context: &MessageContext,
) -> Result<Option<String>, Problem> {
    let MessageContext { conversation_id, parent_message_id, .. } = context.clone();
    let ids: Vec<_> =
        [answered, parent_message_id, conversation_id].into_iter().flatten().collect();
    let Some(first) = ids.first().cloned() else { return Ok(None) };
    let thread = first_of_thread(me, &first).await?;
    for id in &ids[1..] {
        if first_of_thread(me, id).await? != thread {
            let title = "The message belongs to two conversations";
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "wrong-context", title)
                .with_detail(format!("`{first}` and `{id}` are in different threads")));
        }
    }
    Ok(Some(first))
}

/// Returns the first message of the thread of a message or a request, if this member knows that.
async fn first_of_thread(me: &Membership, id: &str) -> Result<MessageId, Problem> {
    let (me, id) = (me.clone(), id.to_owned());
    // One that ended long ago is looked up in the log.
    let finding = tokio::task::spawn_blocking(move || find_thread(&me, &id)).await;
    finding.unwrap_or(Err(BusError::Closed)).map_err(|error| why_not(&error))
}

fn find_thread(me: &Membership, id: &str) -> Result<MessageId, BusError> {
    let bus = me.bus();
    bus.refresh()?;
    if let Ok(id) = RequestId::parse(id) {
        let message = bus.look(|state| {
            let message = state.message(&state.request(&id)?.message)?;
            message.is_readable_by(me.name()).then(|| message.id.clone())
        });
        return message.ok_or_else(|| Refusal::UnknownRequest { id }.into());
    }
    let id = MessageId::parse(id).map_err(Refusal::from)?;
    Ok(bus.find_message(&id, me.name())?.thread)
}
