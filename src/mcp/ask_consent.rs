//! AskedFirst the client's user for a yes to a file that a project brings, in the middle of the call that needs it.
//!
//! A client that opens a session is asked by a request of ours, and the call waits. A newer one is answered with "input required",
//! and repeats the call with the answer. Each file is put to the user once; what comes of it later is said with
//! `cli-team-bridge trust`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{
    ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    InputRequest, InputRequiredResult, InputResponses, ProtocolVersion, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RoleServer};
use serde_json::json;

use super::ask_user::{DECISION, shows_forms};
use super::error::ToolError;
use crate::domain::limits;
use crate::team::Consent;

/// How long a call waits for the user. Clients give up a call sooner or later; the answer counts for the next one all the same.
const PATIENCE: Duration = Duration::from_secs(limits::MAX_ASSIGN_WAIT_SECONDS);

/// The most bytes that a form shows: nobody reads more in one, and nothing that a yes is to may be cut.
const MOST_BYTES: usize = 4_000;

/// The word that says yes.
const TRUST: &str = "trust";

/// What a form is called in an answer, before the hash.
const KEY: &str = "trust-";

/// The files that this server's user was asked about.
#[derive(Default)]
pub(super) struct Consents {
    put: Mutex<BTreeMap<String, Arc<Consent>>>,
}

/// What asking came to.
pub(super) enum Asked {
    /// The user has said yes, and it is written down.
    Yes,
    /// The client is to ask, and to repeat the call.
    Put(InputRequiredResult),
    /// There is no yes, or it could not be written down.
    No(ToolError),
}

impl Consents {
    /// Asks the user, if the client can show it and has not before.
    pub(super) async fn ask(
        &self,
        consent: &Arc<Consent>,
        context: &RequestContext<RoleServer>,
    ) -> Asked {
        let refused = || Asked::No(ToolError::Unagreed(consent.clone()));
        let key = format!("{KEY}{}", consent.file.sha256);
        let is_session = context
            .meta
            .protocol_version()
            .is_none_or(|version| version < ProtocolVersion::V_2026_07_28);
        let capabilities = if is_session {
            let client = context.peer.peer_info();
            client.map(|client| client.capabilities.clone())
        } else {
            context.client_capabilities()
        };
        let Some(form) =
            form(consent).filter(|_| capabilities.is_some_and(|can| shows_forms(&can)))
        else {
            return refused();
        };
        if self.put().insert(key.clone(), consent.clone()).is_some() {
            return refused();
        }
        let form = ElicitRequest::new(form);
        if !is_session {
            let forms = BTreeMap::from([(key, InputRequest::Elicitation(form))]);
            return Asked::Put(InputRequiredResult::from_input_requests(forms));
        }
        let options = PeerRequestOptions::with_timeout(PATIENCE);
        let asking = async {
            let request = ServerRequest::ElicitRequest(form);
            match context.peer.send_cancellable_request(request, options).await {
                Ok(handle) => handle.await_response().await,
                Err(error) => Err(error),
            }
        };
        let answer = tokio::select! {
            answer = asking => answer,
            () = context.ct.cancelled() => return refused(),
        };
        match answer {
            Ok(ClientResult::ElicitResult(result)) if says_yes(&result) => settled(consent),
            Ok(_) => refused(),
            Err(error) => {
                tracing::warn!("failed to ask the client's user: {error}");
                refused()
            }
        }
    }

    /// Takes in what the user said in forms that an answer has put; returns why a yes could not be written down.
    pub(super) fn hear(&self, answers: &InputResponses) -> Result<(), ToolError> {
        for (key, answer) in answers {
            // What this user was never asked, nobody answers in the user's name.
            let Some(consent) = self.put().get(key).cloned() else {
                continue;
            };
            let result: Option<ElicitResult> = serde_json::from_value(answer.clone()).ok();
            if result.is_some_and(|result| says_yes(&result))
                && let Asked::No(error) = settled(&consent)
            {
                return Err(error);
            }
        }
        Ok(())
    }

    fn put(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Consent>>> {
        // Every change is whole by itself.
        self.put.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes a yes down.
fn settled(consent: &Consent) -> Asked {
    match consent.give() {
        Ok(()) => Asked::Yes,
        Err(error) => {
            // With its path, which is for people.
            tracing::error!("failed to record the user's approval: {error}");
            let told = "your user approved, but the approval could not be saved. The bridge's \
                        stderr says why";
            Asked::No(ToolError::Unavailable(told.to_owned()))
        }
    }
}

fn says_yes(result: &ElicitResult) -> bool {
    let content = result.content.as_ref();
    let word = content.and_then(|content| content.get(DECISION)?.as_str());
    result.action == ElicitationAction::Accept && word == Some(TRUST)
}

/// Writes the form; none for a file that needs a yes to more than a form shows.
fn form(consent: &Consent) -> Option<ElicitRequestParams> {
    let message = format!(
        "The file {} comes with the project and names programs that would run as you:\n{}\nYour \
         approval covers this version of the file (SHA-256 {}), permanently.",
        consent.file.quoted(),
        consent.lines.join("\n"),
        consent.file.sha256,
    );
    if message.len() > MOST_BYTES {
        return None;
    }
    let schema = json!({
        "type": "object",
        "properties": { DECISION: { "type": "string", "title": "Decision", "enum": [TRUST, "refuse"] } },
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
