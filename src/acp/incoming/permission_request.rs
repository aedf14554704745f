//! A permission question of an agent: its parsing, its answer, and the option that stands for our answer.

use crate::acp::data::json_fields::{list, present, string};
use crate::acp::data::session_settings::AcpSessionId;
use crate::acp::data::tool_call_update::ToolCallUpdate;
use crate::sys::mutex::unpoisoned;
use agent_client_protocol::Responder;
use serde_json::{Value, json};
use std::sync::Mutex;

/// The options of a question that are read; agents offer up to ten.
const MOST_OPTIONS: usize = 64;

/// A question that waits for its answer. If it is dropped without one, it is answered `cancelled`, so that no agent hangs.
#[derive(Debug)]
pub struct PermissionQuestion {
    request: Box<PermissionRequest>,
    /// The lock only makes the holder of questions shareable: the owner alone uses it, and never waits.
    responder: Mutex<Option<Responder>>,
}

/// The content of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionRequest {
    pub session: AcpSessionId,
    /// The call in question. Often it has few fields: merge it with earlier messages of the same id.
    pub tool_call: ToolCallUpdate,
    /// The possible answers.
    pub options: Vec<PermissionOption>,
    /// The agent's own additions to the question (those to the call are in the call).
    pub meta: Option<Value>,
}

/// One possible answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionOption {
    /// The id that is sent back. Agents choose it freely; it has no meaning here.
    pub id: String,
    /// The name that people are shown.
    pub name: String,
    pub kind: OptionKind,
}

/// The meaning of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionKind {
    /// This call may run.
    AllowOnce,
    /// This call may run, and later ones without a question. How many differs widely between agents.
    AllowAlways,
    /// This call may not run.
    RejectOnce,
    /// This call may not run, nor may later ones.
    RejectAlways,
    /// A kind that the protocol does not define.
    Other(String),
}

/// The answer that we intend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerKind {
    /// Yes, this time.
    AllowOnce,
    /// Yes, and do not ask again.
    AllowAlways,
    Reject,
    /// No, and do not ask again.
    RejectAlways,
}

/// The answer that is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The option with this id.
    Option(String),
    /// None of the options; the turn is being cancelled.
    Cancelled,
}

/// Returns the id of the option for an answer.
///
/// Only the kind counts, never id or position: gemini and qwen list `allow_always` first. One permission never replaces the other:
/// `allow_always` would grant more than intended (with some agents it writes the user's settings), and after `allow_once` the agent would
/// ask again. An id that stands for several kinds is never chosen, as its meaning is up to the agent. `Reject` takes `reject_once`, else
/// `reject_always`, and `RejectAlways` the other way round. `None` means that the question offers no such option: answer [`Answer::Cancelled`].
pub fn choose(options: &[PermissionOption], kind: AnswerKind) -> Option<&str> {
    let kinds: &[OptionKind] = match kind {
        AnswerKind::AllowOnce => &[OptionKind::AllowOnce],
        AnswerKind::AllowAlways => &[OptionKind::AllowAlways],
        AnswerKind::Reject => &[OptionKind::RejectOnce, OptionKind::RejectAlways],
        AnswerKind::RejectAlways => &[OptionKind::RejectAlways, OptionKind::RejectOnce],
    };
    let is_clear = |option: &&PermissionOption| {
        let mut same = options.iter().filter(|other| other.id == option.id);
        same.all(|other| other.kind == option.kind)
    };
    let clear = |kind: &OptionKind| {
        let mut of_kind = options.iter().filter(|option| option.kind == *kind);
        of_kind.find(is_clear)
    };
    kinds.iter().find_map(clear).map(|option| option.id.as_str())
}

impl PermissionQuestion {
    pub(crate) fn new(request: PermissionRequest, responder: Responder) -> Self {
        Self { request: Box::new(request), responder: Mutex::new(Some(responder)) }
    }

    /// Returns the question.
    pub fn request(&self) -> &PermissionRequest {
        &self.request
    }

    /// Sends the answer, which is lost if the agent is gone.
    pub fn answer(mut self, answer: Answer) {
        self.send(answer);
    }

    /// Answers with the option of this kind, or cancels if there is none. Returns the answer.
    pub fn answer_by_kind(self, kind: AnswerKind) -> Answer {
        let id = choose(&self.request.options, kind);
        let answer = id.map_or(Answer::Cancelled, |id| Answer::Option(id.to_owned()));
        self.answer(answer.clone());
        answer
    }

    fn send(&mut self, answer: Answer) {
        let responder = unpoisoned(self.responder.get_mut());
        let Some(responder) = responder.take() else {
            return;
        };
        let outcome = match answer {
            Answer::Option(id) => json!({"outcome": "selected", "optionId": id}),
            Answer::Cancelled => json!({"outcome": "cancelled"}),
        };
        if let Err(error) = responder.respond(json!({"outcome": outcome})) {
            // The connection is over, and its own ending says why.
            tracing::debug!(%error, "a permission question outlived its agent");
        }
    }
}

impl Drop for PermissionQuestion {
    fn drop(&mut self) {
        self.send(Answer::Cancelled);
    }
}

impl PermissionRequest {
    /// Parses the parameters of a `session/request_permission`; `None` without a call that has an id.
    pub(crate) fn parse(params: &Value) -> Option<Self> {
        Some(Self {
            session: string(params, "sessionId")?.into(),
            tool_call: ToolCallUpdate::parse(params.get("toolCall")?)?,
            options: list(params, "options")?
                .iter()
                .filter_map(PermissionOption::parse)
                .take(MOST_OPTIONS)
                .collect(),
            meta: present(params, "_meta").cloned(),
        })
    }
}

impl PermissionOption {
    fn parse(raw: &Value) -> Option<Self> {
        Some(Self {
            id: string(raw, "optionId")?,
            name: string(raw, "name").unwrap_or_default(),
            kind: match raw.get("kind")?.as_str()? {
                "allow_once" => OptionKind::AllowOnce,
                "allow_always" => OptionKind::AllowAlways,
                "reject_once" => OptionKind::RejectOnce,
                "reject_always" => OptionKind::RejectAlways,
                other => OptionKind::Other(other.to_owned()),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(options: &[(&str, &str)], kind: AnswerKind, expected: Option<&str>) {
        let options: Vec<Value> =
            options.iter().map(|(id, kind)| json!({"optionId": id, "kind": kind})).collect();
        let request =
            json!({"sessionId": "s", "toolCall": {"toolCallId": "c"}, "options": options});
        let request = PermissionRequest::parse(&request).expect("the question is well formed");
        assert_eq!(choose(&request.options, kind), expected);
    }

    const GEMINI: &[(&str, &str)] = &[
        ("proceed_always_server", "allow_always"),
        ("proceed_always_tool", "allow_always"),
        ("proceed_once", "allow_once"),
        ("cancel", "reject_once"),
    ];

    #[test]
    fn the_kind_decides_not_the_id_or_the_position() {
        check(GEMINI, AnswerKind::AllowOnce, Some("proceed_once"));
        check(GEMINI, AnswerKind::AllowAlways, Some("proceed_always_server"));
        check(GEMINI, AnswerKind::Reject, Some("cancel"));
        check(
            &[("allow_once", "reject_once"), ("reject", "allow_once")],
            AnswerKind::AllowOnce,
            Some("reject"),
        );
    }

    #[test]
    fn one_permission_never_stands_for_the_other() {
        check(&[("always", "allow_always"), ("no", "reject_once")], AnswerKind::AllowOnce, None);
        check(&[("once", "allow_once"), ("no", "reject_once")], AnswerKind::AllowAlways, None);
        check(&[("odd", "allow_for_an_hour")], AnswerKind::AllowOnce, None);
    }

    #[test]
    fn the_smaller_rejection_is_preferred() {
        check(&[("never", "reject_always"), ("no", "reject_once")], AnswerKind::Reject, Some("no"));
        check(&[("never", "reject_always")], AnswerKind::Reject, Some("never"));
        let both: &[_] = &[("no", "reject_once"), ("never", "reject_always")];
        check(both, AnswerKind::RejectAlways, Some("never"));
        check(&[("no", "reject_once")], AnswerKind::RejectAlways, Some("no"));
        check(&[("yes", "allow_once")], AnswerKind::Reject, None);
    }

    #[test]
    fn an_option_that_means_two_things_is_not_chosen() {
        let options: &[(&str, &str)] = &[
            ("x", "reject_once"),
            ("x", "allow_always"),
            ("never", "reject_always"),
            ("yes", "allow_once"),
            ("yes", "allow_once"),
        ];
        check(options, AnswerKind::Reject, Some("never"));
        check(options, AnswerKind::AllowAlways, None);
        check(options, AnswerKind::AllowOnce, Some("yes"));
    }

    #[test]
    fn a_malformed_option_is_left_out_and_a_malformed_question_is_none() {
        check(&[], AnswerKind::AllowOnce, None);
        assert_eq!(
            PermissionRequest::parse(&json!({"sessionId": "s", "toolCall": {}, "options": []})),
            None
        );
        assert_eq!(PermissionRequest::parse(&json!([])), None);
        assert_eq!(PermissionOption::parse(&json!({"optionId": "x"})), None);
    }
}
