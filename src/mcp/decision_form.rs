//! The forms for a decision of the client's user: their content, showing them to the client, and what a client can show.

use std::time::Duration;

use rmcp::Peer;
use rmcp::model::{
    ClientCapabilities, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult,
    Implementation, ProtocolVersion, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RoleServer};
use serde_json::{Value, json};

/// The field that holds a decision.
const DECISION: &str = "decision";

/// How Claude Code introduces itself. It shows four lines of a form's text.
const SHOWS_FOUR_LINES: &str = "claude-code";

/// The characters of a single line of text that four lines of a terminal with 80 columns show in any case.
const IN_FOUR_LINES: usize = 280;

/// Says whether a client can show forms.
pub(super) fn shows_forms(capabilities: &ClientCapabilities) -> bool {
    let forms = capabilities.elicitation.as_ref();
    // A client that names neither means forms.
    forms.is_some_and(|how| how.form.is_some() || how.url.is_none())
}

/// Says whether the client of a call shows forms, and takes them only as the answer to a call.
pub(super) fn shows_forms_in_answers(context: &RequestContext<RoleServer>) -> bool {
    let version = context.meta.protocol_version();
    version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
        && context.client_capabilities().is_some_and(|can| shows_forms(&can))
}

/// Returns how many characters of one line of text a client shows in a form, if it is known to cut longer ones.
pub(super) fn shown_chars(client: Option<&Implementation>) -> Option<usize> {
    client.is_some_and(|client| client.name == SHOWS_FOUR_LINES).then_some(IN_FOUR_LINES)
}

/// Makes a form that is accepted or declined. It has no fields, so one key is a yes in Claude Code: its cursor is on "Accept" then, and
/// else on the first field.
pub(super) fn yes_or_no_form(message: String) -> Option<ElicitRequestParams> {
    form(message, json!({ "type": "object", "properties": {} }))
}

/// Makes a form that offers these decisions, for a yes that lasts: a user, or a client that accepts forms by itself, does not give it by
/// accepting alone.
pub(super) fn decision_form(message: String, offers: &[&str]) -> Option<ElicitRequestParams> {
    let schema = json!({
        "type": "object",
        "properties": { DECISION: { "type": "string", "title": "Decision", "enum": offers } },
        "required": [DECISION],
    });
    form(message, schema)
}

/// Returns the decision in a form that was filled in.
pub(super) fn decision_in(result: &ElicitResult) -> Option<&str> {
    result.content.as_ref()?.get(DECISION)?.as_str()
}

fn form(message: String, schema: Value) -> Option<ElicitRequestParams> {
    match serde_json::from_value(schema) {
        Ok(requested_schema) => Some(ElicitRequestParams::FormElicitationParams {
            meta: None,
            message,
            requested_schema,
        }),
        Err(error) => {
            tracing::error!("failed to build a form: {error}");
            None
        }
    }
}

/// Shows a form by a request of ours, and waits for the user. Returns `None` if the client did not show it.
pub(super) async fn put_form(
    peer: &Peer<RoleServer>,
    form: ElicitRequestParams,
    limit: Duration,
) -> Option<ElicitResult> {
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(form));
    let options = PeerRequestOptions::with_timeout(limit);
    let answer = match peer.send_cancellable_request(request, options).await {
        Ok(handle) => handle.await_response().await,
        Err(error) => Err(error),
    };
    match answer {
        Ok(ClientResult::ElicitResult(result)) => Some(result),
        Ok(_) => None,
        Err(error) => {
            tracing::warn!("failed to ask the client's user: {error}");
            None
        }
    }
}
