//! Asks the client's user for a yes to a file that a project brings, in the middle of the call that needs it.
//!
//! A client that opens a session is asked by a request of ours, and the call waits. A newer one is answered with "input required",
//! and repeats the call with the answer. Each file is put to the user once; what comes of it later is said with
//! `cli-team-bridge trust`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest,
    InputRequiredResult, InputResponses, ProtocolVersion,
};
use rmcp::service::{RequestContext, RoleServer};

use super::decision_form::{decision_form, decision_in, put_form, shows_forms};
use super::error::ToolError;
use crate::domain::wait_times;
use crate::sys::mutex::lock;
use crate::team::Consent;

/// The most bytes that a form shows: more would not be read, and nothing that the user agrees to may be cut.
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
        if !is_session {
            let form = InputRequest::Elicitation(ElicitRequest::new(form));
            let forms = BTreeMap::from([(key, form)]);
            return Asked::Put(InputRequiredResult::from_input_requests(forms));
        }
        let answer = tokio::select! {
            answer = put_form(&context.peer, form, wait_times::CONSENT) => answer,
            () = context.ct.cancelled() => return refused(),
        };
        match answer {
            Some(result) if says_yes(&result) => settled(consent),
            _ => refused(),
        }
    }

    /// Takes in what the user said in forms that an answer has put; returns why a yes could not be written down.
    pub(super) fn hear(&self, answers: &InputResponses) -> Result<(), ToolError> {
        for (key, answer) in answers {
            // An answer to a question that this user was never asked does not count.
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
        lock(&self.put)
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
    result.action == ElicitationAction::Accept && decision_in(result) == Some(TRUST)
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
    decision_form(message, &[TRUST, "refuse"])
}
