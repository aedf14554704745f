//! Which words of a transcript are searched: what the agent says, thinks and does, in pieces of one kind. Pure.
//!
//! Its prompts and delivered messages are in the log, and not searched twice.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::domain::time::parse_time;

/// The bytes of lines after which a piece ends: those of a hit are read again.
const MOST_LINES_BYTES: u64 = 128 * 1024;

/// A piece of a transcript: consecutive lines of one kind, and of one tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TranscriptPiece {
    /// Where its first line begins in what was read, in bytes.
    pub(super) from: u64,
    /// The length of its lines.
    pub(super) bytes: u64,
    /// When it began, if the line says so.
    pub(super) at_ms: Option<i64>,
    /// Whether it is what the agent says, which a result repeats.
    pub(super) is_output: bool,
    pub(super) text: String,
}

/// Divides whole lines of a transcript into pieces.
pub(super) fn pieces(lines: &str) -> Vec<TranscriptPiece> {
    let mut found: Vec<TranscriptPiece> = Vec::new();
    let mut key: Option<(String, String)> = None;
    let mut seen = BTreeSet::new();
    let mut at = 0;
    for line in lines.split_inclusive('\n') {
        let (from, bytes) = (at, line.len() as u64);
        at += bytes;
        let read = serde_json::from_str::<Value>(line).ok();
        let Some((kind, words)) = read.as_ref().and_then(|line| words(line)) else {
            key = None;
            continue;
        };
        let id = read.as_ref().and_then(|line| line["id"].as_str()).unwrap_or_default();
        let own = (kind.to_owned(), id.to_owned());
        let fits = found.last().is_some_and(|piece| piece.bytes < MOST_LINES_BYTES);
        if key.as_ref() != Some(&own) || !fits {
            let at_ms = read.as_ref().and_then(|line| parse_time(line["at"].as_str()?));
            let (is_output, text) = (kind == "text", String::new());
            found.push(TranscriptPiece { from, bytes: 0, at_ms, is_output, text });
            seen.clear();
        }
        let Some(piece) = found.last_mut() else { continue };
        piece.bytes = from + bytes - piece.from;
        match words {
            Words::Flowing(words) => piece.text.push_str(words),
            Words::Listed(listed) => {
                // A call repeats its words with each change of its status.
                for word in listed.into_iter().filter(|word| seen.insert(word.clone())) {
                    piece.text.push_str(&word);
                    piece.text.push('\n');
                }
            }
        }
        key = Some(own);
    }
    found.retain(|piece| piece.text.contains(char::is_alphanumeric));
    found
}

enum Words<'a> {
    /// A part of a text, which goes on in the next line.
    Flowing(&'a str),
    Listed(Vec<String>),
}

/// Returns the kind of a line and its words, if it has words to be searched.
fn words(line: &Value) -> Option<(&str, Words<'_>)> {
    let kind = line["kind"].as_str()?;
    match kind {
        "text" | "thought" | "user" => Some((kind, Words::Flowing(line["text"].as_str()?))),
        "tool_call" | "plan" | "permission" | "git" | "end" => {
            let mut listed = Vec::new();
            let fields = line.as_object()?.iter();
            let skipped = ["at", "kind", "id", "tool", "status", "stop_reason", "usage"];
            for (_, value) in fields.filter(|(name, _)| !skipped.contains(&name.as_str())) {
                collect(value, &mut listed);
            }
            Some((kind, Words::Listed(listed)))
        }
        _ => None,
    }
}

/// Returns the texts in the JSON of which a text consists, as the result of a tool does: they are searched and shown, rather than signs.
fn texts_in(text: &str) -> Option<Vec<String>> {
    let is_json = text.trim_start().starts_with(['{', '[']);
    let inner = is_json.then(|| serde_json::from_str::<Value>(text).ok()).flatten()?;
    // A list of numbers has no texts, and stays as it is.
    let mut texts = Vec::new();
    collect(&inner, &mut texts);
    (!texts.is_empty()).then_some(texts)
}

/// Collects the texts in a value. The parser bounds its depth, and JSON within JSON is shorter each time.
fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => match texts_in(text) {
            Some(texts) => found.extend(texts),
            None => found.push(text.clone()),
        },
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_flow_are_one_piece_and_a_call_has_each_word_once() {
        let lines = [
            r#"{"at":"2026-02-02T02:40:00.000Z","kind":"prompt","text":"not this"}"#,
            r#"{"at":"2026-02-02T02:40:01.000Z","kind":"text","text":"I fi"}"#,
            r#"{"at":"2026-02-02T02:40:02.000Z","kind":"text","text":"x it"}"#,
            r#"{"kind":"tool_call","id":"1","title":"Edit x.rs","status":"pending","input":{"path":"x.rs"}}"#,
            r#"{"kind":"tool_call","id":"1","title":"Edit x.rs","content":[{"text":"new"}]}"#,
            r#"{"kind":"tool_call","id":"2","title":"Run tests"}"#,
            r#"{"kind":"tool_call","id":"3","content":[{"text":"{\"from\":\"ann\",\"said\":{\"content\":\"[1] is right\"},\"is\":[1]}"}]}"#,
            r#"{"kind":"tool_call","id":"4","content":[{"text":"[1, 2]"}]}"#,
            "torn {",
            r#"{"kind":"thought","text":"..."}"#,
        ];
        let text = lines.map(|line| format!("{line}\n")).concat();
        let found = pieces(&text);
        let texts: Vec<_> = found.iter().map(|piece| piece.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "I fix it",
                "Edit x.rs\nx.rs\nnew\n",
                "Run tests\n",
                "ann\n[1] is right\n",
                "[1, 2]\n"
            ]
        );
        assert_eq!(found[0].at_ms, Some(1_770_000_001_000));
        assert!(found[0].is_output && !found[1].is_output);
        // Each piece can be read again from its own lines.
        for piece in &found {
            let from = usize::try_from(piece.from).unwrap();
            let own = &text[from..from + usize::try_from(piece.bytes).unwrap()];
            let again = pieces(own);
            assert_eq!(again.len(), 1, "{own}");
            assert_eq!(again[0].text, piece.text);
        }
    }
}
