//! The tool calls of a turn that failed or were rejected, as a task's result lists them.

use super::collect::Refused;
use crate::acp::ToolCall;
use crate::domain::limits;
use crate::domain::task::result::FailedCall;
use crate::domain::text::redact::Secrets;

/// The reason of a rejected call, if its agent gives none.
const NOT_ALLOWED: &str = "it was not allowed";

/// Returns the calls that failed according to their agent, and those that were rejected, about which some agents report nothing
/// more.
pub(crate) fn failed_calls(
    calls: &[&ToolCall],
    refused: &[Refused],
    secrets: &Secrets,
) -> Vec<FailedCall> {
    let is_of = |refused: &Refused, call: &ToolCall| refused.call.as_deref() == Some(call.id());
    let mut all = Vec::new();
    for call in calls {
        let refused = refused.iter().any(|refused| is_of(refused, call));
        if refused || call.status() == "failed" {
            all.push(failed(call, refused, secrets));
        }
    }
    let known = |refused: &&Refused| calls.iter().any(|call| is_of(refused, call));
    all.extend(refused.iter().filter(|refused| !known(refused)).map(|refused| FailedCall {
        title: cut(&refused.title, limits::QUESTION_CHARS, secrets),
        kind: "other".to_owned(),
        why: NOT_ALLOWED.to_owned(),
    }));
    all
}

fn failed(call: &ToolCall, refused: bool, secrets: &Secrets) -> FailedCall {
    // gemini reports a call that it refuses itself only by its id, which contains the tool's name.
    let kind = Some(call.kind()).filter(|kind| *kind != "other");
    let titles = [call.title(), call.name(), kind.unwrap_or_default(), call.id()];
    let title = titles.into_iter().find(|title| !title.trim().is_empty());
    let why = call.known().content.as_deref().unwrap_or_default();
    FailedCall {
        title: cut(title.unwrap_or_default(), limits::QUESTION_CHARS, secrets),
        kind: call.kind().to_owned(),
        why: if refused && why.trim().is_empty() {
            NOT_ALLOWED.to_owned()
        } else {
            cut(why, limits::FAILED_CALL_CHARS, secrets)
        },
    }
}

/// Returns the beginning of a text, with a note if the rest is left out.
fn cut(text: &str, most: usize, secrets: &Secrets) -> String {
    let text = secrets.hidden(text.trim());
    let (head, is_cut) = text.head(most);
    if is_cut { format!("{head} … [more in the transcript]") } else { head.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acp::{ToolCallUpdate, ToolCalls};

    fn call(id: &str, kind: &str, status: &str) -> ToolCallUpdate {
        ToolCallUpdate {
            id: id.into(),
            title: Some(format!("{kind} {id}")),
            kind: Some(kind.into()),
            status: Some(status.into()),
            ..ToolCallUpdate::default()
        }
    }

    fn seen(updates: Vec<ToolCallUpdate>) -> ToolCalls {
        let mut calls = ToolCalls::default();
        for update in updates {
            calls.see(update);
        }
        calls
    }

    #[test]
    fn calls_that_failed_are_listed_with_their_reason() {
        let mut update = call("1", "execute", "failed");
        let key = "sk-1234567890abcdefghijk";
        let secrets = Secrets::of([("API_KEY", key)].into_iter());
        // The cut goes through the key.
        update.content =
            Some(format!("{}{key} and so on", "x".repeat(limits::FAILED_CALL_CHARS - 10)));
        let calls = seen(vec![update, call("2", "edit", "completed")]);
        let listed = failed_calls(&calls.all(), &[], &secrets);
        assert_eq!(listed.len(), 1);
        assert_eq!((listed[0].title.as_str(), listed[0].kind.as_str()), ("execute 1", "execute"));
        let why = &listed[0].why;
        assert!(why.ends_with(" … [more in the transcript]"), "{why}");
        assert!(!why.contains("sk-1"), "{why}");
    }

    #[test]
    fn rejected_calls_are_listed_and_every_call_has_a_title() {
        let bare = |id: &str, status: Option<&str>| ToolCallUpdate {
            id: id.into(),
            status: status.map(str::to_owned),
            ..ToolCallUpdate::default()
        };
        let mut silent = call("2", "edit", "in_progress");
        silent.title = Some(String::new());
        let calls = seen(vec![bare("write_file-1", Some("failed")), silent, bare("3", None)]);
        let refused = |call: Option<&str>, title: &str| Refused {
            call: call.map(str::to_owned),
            title: title.to_owned(),
        };
        let refused = [refused(Some("2"), "x"), refused(None, "write notes.txt")];
        let listed = failed_calls(&calls.all(), &refused, &Secrets::default());
        let listed: Vec<_> =
            listed.iter().map(|call| (call.title.as_str(), call.why.as_str())).collect();
        let expected = [
            ("write_file-1", ""),
            ("edit", "it was not allowed"),
            ("write notes.txt", "it was not allowed"),
        ];
        assert_eq!(listed, expected);
    }
}
