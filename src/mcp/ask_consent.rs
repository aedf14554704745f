//! Asks the client's user for consent to a project's file, in the middle of the call that needs it.
//!
//! A client with a session gets a request of ours, and the call waits. A stateless client gets "input required" as the answer, and
//! repeats the call with the user's answer. The user is asked about each file once; for later decisions there is
//! `cli-team-bridge trust`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest,
    InputRequiredResult, InputResponses, ProtocolVersion,
};
use rmcp::service::{RequestContext, RoleServer};

use super::decision_form::{
    decision_form, decision_in, fits_four_lines, put_form, shows_forms, shows_four_lines,
};
use super::error::ToolError;
use crate::domain::wait_times;
use crate::sys::mutex::lock;
use crate::team::Consent;

/// The most bytes that a form shows. A user would not read more, and consent must not cover a part that was cut off.
const MOST_BYTES: usize = 4_000;

/// The word for consent.
const TRUST: &str = "trust";

/// The prefix of a form's key in an answer, before the hash.
const KEY: &str = "trust-";

/// The files about which this server's user was asked.
#[derive(Default)]
pub(super) struct Consents {
    asked: Mutex<BTreeMap<String, Arc<Consent>>>,
}

/// The outcome of asking.
pub(super) enum Asked {
    /// The user has consented, and the consent is recorded.
    Yes,
    /// The client has to ask the user, and to repeat the call.
    Put(InputRequiredResult),
    /// There is no consent, or it could not be recorded.
    No(ToolError),
}

impl Consents {
    /// Asks the user, if the client can show forms and the user has not been asked before.
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
        let Some(form) = form(consent, shows_four_lines(context.client_info().as_ref()))
            .filter(|_| capabilities.is_some_and(|can| shows_forms(&can)))
        else {
            return refused();
        };
        if self.asked().insert(key.clone(), consent.clone()).is_some() {
            return refused();
        }
        if !is_session {
            let form = InputRequest::Elicitation(ElicitRequest::new(form));
            let forms = BTreeMap::from([(key, form)]);
            return Asked::Put(InputRequiredResult::from_input_requests(forms));
        }
        let cancelled = context.ct.cancelled();
        match put_form(&context.peer, form, wait_times::CONSENT, cancelled).await {
            Some(result) if says_yes(&result) => settled(consent),
            _ => refused(),
        }
    }

    /// Takes in the user's answers to forms of an earlier answer; returns an error if consent could not be recorded.
    pub(super) fn take_answers(&self, answers: &InputResponses) -> Result<(), ToolError> {
        for (key, answer) in answers {
            // An answer to a question that this user was not asked does not count.
            let Some(consent) = self.asked().get(key).cloned() else {
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

    fn asked(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Consent>>> {
        // Every change is a single step, so a poisoned map is whole.
        lock(&self.asked)
    }
}

/// Records consent.
fn settled(consent: &Consent) -> Asked {
    match consent.give() {
        Ok(()) => Asked::Yes,
        Err(error) => {
            // The log has the path, which is for people only.
            tracing::error!("failed to record the user's approval: {error}");
            let message = "your user approved, but the approval could not be saved. The bridge's \
                        stderr says why";
            Asked::No(ToolError::Unavailable(message.to_owned()))
        }
    }
}

fn says_yes(result: &ElicitResult) -> bool {
    result.action == ElicitationAction::Accept && decision_in(result) == Some(TRUST)
}

/// Makes the form; `None` if the client would not show all of it.
fn form(consent: &Consent, is_short: bool) -> Option<ElicitRequestParams> {
    let file = &consent.file;
    decision_form(text(&file.quoted(), &file.sha256, &consent.lines, is_short)?, &[TRUST, "refuse"])
}

/// Writes the text of the form, unless it is longer than what is shown.
fn text(file: &str, sha256: &str, lines: &[String], is_short: bool) -> Option<String> {
    let what = "comes with the project and names programs that would run as you:";
    if is_short {
        let lines = lines.join("; ");
        let text = format!("Approve this version for good? The file {file} {what} {lines}");
        return fits_four_lines(&text).then_some(text);
    }
    let lines = lines.join("\n");
    let text = format!(
        "The file {file} {what}\n{lines}\nYour approval covers this version of the file (SHA-256 \
            {sha256}), permanently."
    );
    (text.len() <= MOST_BYTES).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_that_is_accepted_without_the_word_for_consent_is_no_consent() {
        let accepted = || ElicitResult::new(ElicitationAction::Accept);
        assert!(!says_yes(&accepted()));
        assert!(!says_yes(&accepted().with_content(serde_json::json!({}))));
        assert!(!says_yes(&accepted().with_content(serde_json::json!({ "decision": "refuse" }))));
        assert!(says_yes(&accepted().with_content(serde_json::json!({ "decision": TRUST }))));
    }

    #[test]
    fn a_user_is_asked_only_where_the_form_shows_all_that_would_be_approved() {
        let line = |count| vec!["[agents.ann] would run \"sh\"".to_owned(); count];
        let shown = |count, is_short| text("\"bridge.toml\"", "abc", &line(count), is_short);
        let short = shown(2, true).unwrap();
        assert!(short.ends_with("\"sh\"; [agents.ann] would run \"sh\""), "{short}");
        assert!(!short.contains('\n'), "its lines would be cut: {short}");
        assert_eq!(shown(10, true), None);
        let long = shown(10, false).unwrap();
        assert_eq!(long.lines().filter(|line| line.starts_with("[agents.ann]")).count(), 10);
        assert!(long.contains("(SHA-256 abc)"), "{long}");
        assert_eq!(shown(1000, false), None);
    }
}
