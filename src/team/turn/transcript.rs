//! The transcript of a turn: one JSON line per update, for reading only.

use serde_json::{Value, json};

use super::joined_words::JoinedWords;
use super::outcome::Outcome;
use crate::acp::{TokenUsage, Update};
use crate::domain::messaging::DeliveryMethod;
use crate::domain::text::redact::Hidden;
use crate::domain::time::iso8601;

/// Returns the line of the prompt.
pub(crate) fn of_prompt(wall_ms: i64, agent: &str, text: &str) -> String {
    line(wall_ms, "prompt", &json!({ "agent": agent, "text": text }))
}

/// Returns the line of a text that was delivered into a running turn.
pub(crate) fn of_words(wall_ms: i64, method: DeliveryMethod, text: &str) -> String {
    line(wall_ms, method.as_str(), &json!({ "text": text }))
}

/// Returns the line for such a text that the agent accepted.
pub(crate) fn of_taken(wall_ms: i64) -> String {
    line(wall_ms, "taken", &json!({}))
}

/// Returns the line of the end: the reason, the error, and the turn's tokens if the agent reports them.
pub(crate) fn of_end(wall_ms: i64, outcome: &Outcome) -> String {
    let error = outcome.error.as_ref().map(|error| error.message.as_str());
    let usage = outcome.usage.map(tokens);
    let body = json!({ "stop_reason": outcome.stop_reason, "error": error, "usage": usage });
    line(wall_ms, "end", &body)
}

fn tokens(usage: TokenUsage) -> Value {
    json!({ "input": usage.input, "output": usage.output, "cached": usage.cached, "total": usage.total })
}

/// Returns the line of a report by git.
pub(crate) fn of_git(wall_ms: i64, report: &str) -> String {
    line(wall_ms, "git", &json!({ "told": report }))
}

/// Returns the line of a permission question and its answer.
pub(crate) fn of_permission(wall_ms: i64, title: &str, answer: &str) -> String {
    line(wall_ms, "permission", &json!({ "title": title, "answer": answer }))
}

/// Returns the line of an update.
pub(crate) fn of_update(wall_ms: i64, update: &Update) -> String {
    let (kind, body) = match update {
        Update::MessageText(text) => ("text", json!({ "text": text })),
        Update::ThoughtText(text) => ("thought", json!({ "text": text })),
        Update::UserText(text) => ("user", json!({ "text": text })),
        Update::ToolCall(call) => (
            "tool_call",
            json!({
                "id": call.id, "begins": call.begins.then_some(true), "title": call.title, "name": call.name, "tool": call.kind, "status": call.status,
                "locations": call.locations, "input": call.raw_input, "content": call.content,
            }),
        ),
        Update::Plan(entries) => {
            let entries: Vec<_> = entries
                .iter()
                .map(|entry| json!({ "content": entry.content, "status": entry.status }))
                .collect();
            ("plan", json!({ "entries": entries }))
        }
        Update::Tokens(usage) => ("tokens", tokens(*usage)),
        Update::Usage { used, size, cost, .. } => {
            let cost = cost
                .as_ref()
                .map(|cost| json!({ "amount": cost.amount, "currency": cost.currency }));
            ("usage", json!({ "used": used, "size": size, "cost": cost }))
        }
        Update::Mode(mode) => ("mode", json!({ "mode": mode })),
        Update::Commands(commands) => ("commands", json!({ "commands": commands })),
        Update::ConfigOptions(options) => {
            let options: Vec<_> = options
                .iter()
                .map(|option| {
                    let current = option.current.as_ref().map(Hidden::as_str);
                    json!({ "id": option.id.as_str(), "current": current })
                })
                .collect();
            ("config_options", json!({ "options": options }))
        }
        Update::Failing(failing) => ("failing", json!({ "failing": failing })),
        Update::Unknown { raw, .. } => ("unknown", json!({ "update": raw })),
    };
    line(wall_ms, kind, &body)
}

/// Returns the agent's output so far, from its transcript.
pub(crate) fn output(transcript: &str) -> String {
    let mut words = JoinedWords::default();
    read_output(&mut words, transcript);
    words.text
}

/// Adds the agent's words in the next lines of its transcript, as its turn joins them.
pub(crate) fn read_output(words: &mut JoinedWords, lines: &str) {
    for line in lines.lines() {
        let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
        match value["kind"].as_str() {
            Some("text") => words.add(value["text"].as_str().unwrap_or_default()),
            // A task goes on with another prompt after an interruption.
            Some("prompt" | "permission") => words.pause(),
            Some("tool_call") if value["begins"] == true => words.pause(),
            _ => {}
        }
    }
}

fn line(wall_ms: i64, kind: &str, body: &Value) -> String {
    let mut whole = json!({ "at": iso8601(wall_ms), "kind": kind });
    if let (Some(whole), Some(body)) = (whole.as_object_mut(), body.as_object()) {
        let present = body.iter().filter(|(_, value)| !value.is_null());
        whole.extend(present.map(|(key, value)| (key.clone(), value.clone())));
    }
    whole.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acp::ToolCallUpdate;
    use crate::domain::task::TaskStatus;

    #[test]
    fn the_output_is_read_back_from_the_transcript() {
        let lines = [
            of_prompt(0, "codex", "text of a prompt"),
            of_update(1, &Update::MessageText("one\n".to_owned())),
            of_update(2, &Update::ThoughtText("hm".to_owned())),
            of_update(3, &Update::MessageText("two".to_owned())),
            of_end(4, &Outcome::plain(TaskStatus::Done)),
        ];
        assert_eq!(output(&lines.join("\n")), "one\ntwo");
        assert_eq!(output("torn {"), "");
    }

    #[test]
    fn words_before_and_after_a_question_for_permission_are_paragraphs() {
        let words = |text: &str| of_update(1, &Update::MessageText(text.to_owned()));
        let lines = [words("I push."), of_permission(2, "git push", "reject"), words("I may not.")];
        assert_eq!(output(&lines.join("\n")), "I push.\n\nI may not.");
    }

    #[test]
    fn words_before_and_after_a_call_are_paragraphs_and_news_of_a_call_part_none() {
        let call = |begins| {
            let call = ToolCallUpdate { id: "1".into(), begins, ..ToolCallUpdate::default() };
            of_update(1, &Update::ToolCall(Box::new(call)))
        };
        let words = |text: &str| of_update(1, &Update::MessageText(text.to_owned()));
        let lines =
            [words("I look."), call(true), words("Fou"), call(false), words("nd it."), call(true)];
        assert_eq!(output(&lines.join("\n")), "I look.\n\nFound it.");
        // So does the turn itself, and what is read in parts.
        let (first, second) = lines.split_at(2);
        let mut read = JoinedWords::default();
        read_output(&mut read, &first.join("\n"));
        assert_eq!(std::mem::take(&mut read.text), "I look.");
        read_output(&mut read, &second.join("\n"));
        assert_eq!(read.text, "\n\nFound it.");
    }
}
