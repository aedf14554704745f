//! The forms for a decision of the client's user: their content, showing them to the client, and what a client can show.

use std::time::Duration;

use rmcp::Peer;
use rmcp::model::{
    CancelledNotificationParam, ClientCapabilities, ClientResult, ElicitRequest,
    ElicitRequestParams, ElicitResult, Implementation, ProtocolVersion, RequestId, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RoleServer};
use serde_json::{Value, json};

/// The field that holds a decision.
const DECISION: &str = "decision";

/// The field that holds an answer in words.
const ANSWER: &str = "answer";

/// How Claude Code introduces itself. It shows four lines of a form's text.
const SHOWS_FOUR_LINES: &str = "claude-code";

/// The columns of such a line in a terminal of 80 columns.
const COLUMNS: usize = 76;

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

/// Says whether a client is known to show no more of a form's text than [`fits_four_lines`].
pub(super) fn shows_four_lines(client: Option<&Implementation>) -> bool {
    client.is_some_and(|client| client.name == SHOWS_FOUR_LINES)
}

/// Says whether a text of one line fits into the four lines that Claude Code shows of a form, wrapped between words.
pub(super) fn fits_four_lines(text: &str) -> bool {
    // A letter beyond ASCII may be two columns wide.
    let columns = |word: &str| word.chars().map(|letter| 1 + usize::from(!letter.is_ascii())).sum();
    let (mut lines, mut column) = (1, 0);
    for word in text.split(' ') {
        let mut width: usize = columns(word);
        if column > 0 && column + 1 + width > COLUMNS {
            (lines, column) = (lines + 1, 0);
        }
        // A longer word is broken.
        while width > COLUMNS {
            (lines, width) = (lines + 1, width - COLUMNS);
        }
        column += width + usize::from(column > 0);
    }
    lines <= 4
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

/// Makes a form that takes an answer in words.
pub(super) fn answer_form(message: String) -> Option<ElicitRequestParams> {
    let schema = json!({
        "type": "object",
        "properties": { ANSWER: { "type": "string", "title": "Answer", "minLength": 1 } },
        "required": [ANSWER],
    });
    form(message, schema)
}

/// Returns the answer in a form that was filled in.
pub(super) fn answer_in(result: &ElicitResult) -> Option<&str> {
    let text = result.content.as_ref()?.get(ANSWER)?.as_str()?;
    Some(text).filter(|text| !text.trim().is_empty())
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

/// Shows a form by a request of ours, and waits for the user. Returns `None` if the client did not show it. Once the form is answered
/// elsewhere, the request is cancelled, so that the client withdraws it.
pub(super) async fn put_form(
    peer: &Peer<RoleServer>,
    form: ElicitRequestParams,
    limit: Duration,
    answered: impl Future<Output = ()>,
) -> Option<ElicitResult> {
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(form));
    let options = PeerRequestOptions::with_timeout(limit);
    let answer = match peer.send_cancellable_request(request, options).await {
        Ok(handle) => {
            let (request, shown) = (handle.id.clone(), handle.peer.clone());
            tokio::select! {
                answer = handle.await_response() => answer,
                () = answered => {
                    withdraw(&shown, request).await;
                    return None;
                }
            }
        }
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

async fn withdraw(peer: &Peer<RoleServer>, request: RequestId) {
    let reason = Some("it was answered elsewhere".to_owned());
    let cancelled = CancelledNotificationParam::new(Some(request), reason);
    if let Err(error) = peer.notify_cancelled(cancelled).await {
        tracing::debug!("failed to withdraw a form: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_lines_hold_what_is_left_after_wrapping() {
        let fits = |words: &[String]| fits_four_lines(&words.join(" "));
        assert!(fits(&["x".repeat(COLUMNS), "y".repeat(2 * COLUMNS), "z".repeat(COLUMNS)]));
        assert!(!fits(&["x".repeat(COLUMNS), "y".repeat(3 * COLUMNS), "z".to_owned()]));
        // A word that does not fit into the rest of a line leaves that rest empty.
        assert!(!fits(&vec!["x".repeat(40); 5]));
        assert!(fits(&["あ".repeat(2 * COLUMNS)]));
        assert!(!fits(&["あ".repeat(2 * COLUMNS + 1)]));
    }
}
