//! The form for a decision of the client's user: its content, showing it to the client, and whether a client can show it.

use std::time::Duration;

use rmcp::Peer;
use rmcp::model::{
    ClientCapabilities, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult,
    ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RoleServer};
use serde_json::json;

/// The field that holds the decision.
const DECISION: &str = "decision";

/// Says whether a client can show forms.
pub(super) fn shows_forms(capabilities: &ClientCapabilities) -> bool {
    let forms = capabilities.elicitation.as_ref();
    // A client that names neither means forms.
    forms.is_some_and(|how| how.form.is_some() || how.url.is_none())
}

/// Makes a form that offers these decisions.
pub(super) fn decision_form(message: String, offers: &[&str]) -> Option<ElicitRequestParams> {
    let schema = json!({
        "type": "object",
        "properties": { DECISION: { "type": "string", "title": "Decision", "enum": offers } },
        "required": [DECISION],
    });
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

/// Returns the decision in a form that was filled in.
pub(super) fn decision_in(result: &ElicitResult) -> Option<&str> {
    result.content.as_ref()?.get(DECISION)?.as_str()
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
