//! The tool calls of a session, merged from all messages that mention them.
//!
//! Agents disagree on how a call begins: gemini may ask permission for a call that it never announced, and send a `tool_call_update` for
//! a new id. So the first message with an id makes the call, whatever its kind.

use super::tool_call_update::ToolCallUpdate;
use super::touched_paths::Touched;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};

/// The number of remembered calls of a turn, and their bytes. Beyond either limit the oldest call is forgotten, finished calls first.
const MOST_CALLS: usize = 4096;
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// The longest word, such as a kind, which matters only if it is known. A longer one is dropped: its beginning could be half of a key.
const WORD_BYTES: usize = 128;

/// How much is kept of a text whose beginning people are shown. It exceeds the shown part by the length of a key, because secrets are
/// hidden before a text is cut to that part.
const TEXT_BYTES: usize = 16 * 1024;

/// The bytes of a call besides its texts.
const CALL_BYTES: usize = 512;

/// One tool call, merged from the messages so far.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// How many calls came before it.
    number: usize,
    known: ToolCallUpdate,
}

impl ToolCall {
    /// Returns the call's id.
    pub fn id(&self) -> &str {
        &self.known.id
    }

    /// Returns the title that people are shown; empty as long as there is none.
    pub fn title(&self) -> &str {
        self.known.title.as_deref().unwrap_or_default()
    }

    /// Returns the kind, `other` by default.
    pub fn kind(&self) -> &str {
        self.known.kind.as_deref().unwrap_or("other")
    }

    /// Returns the status, `pending` by default.
    pub fn status(&self) -> &str {
        self.known.status.as_deref().unwrap_or("pending")
    }

    /// Says whether the call has ended, successfully or not.
    pub fn is_over(&self) -> bool {
        matches!(self.status(), "completed" | "failed")
    }

    /// Returns the best guess at the tool's name: its own field, else the name in the agent's additions, else the title.
    pub fn name(&self) -> &str {
        stated_name(&self.known).filter(|name| !name.is_empty()).unwrap_or_else(|| self.title())
    }

    /// Returns all known fields, in the form of one message.
    pub fn known(&self) -> &ToolCallUpdate {
        &self.known
    }

    /// Returns the input of the permission rules: all places and the worst kind of all messages about the call.
    pub fn touched(&self) -> &Touched {
        &self.known.touched
    }

    fn merge(&mut self, update: ToolCallUpdate) {
        fn overwrite<T>(known: &mut Option<T>, update: Option<T>) {
            if update.is_some() {
                *known = update;
            }
        }
        let ToolCallUpdate {
            id: _,
            begins: _,
            title,
            name,
            kind,
            status,
            locations,
            diffs,
            raw_input,
            content,
            meta,
            touched,
        } = update;
        self.known.touched.add(touched);
        overwrite(&mut self.known.title, title);
        overwrite(&mut self.known.name, name);
        overwrite(&mut self.known.kind, kind);
        overwrite(&mut self.known.status, status);
        overwrite(&mut self.known.locations, locations);
        overwrite(&mut self.known.diffs, diffs);
        overwrite(&mut self.known.raw_input, raw_input);
        overwrite(&mut self.known.content, content);
        overwrite(&mut self.known.meta, meta);
        if self.status() == "completed" {
            // Only the content of failed calls is read.
            self.known.content = None;
        }
    }

    fn bytes(&self) -> usize {
        let known = &self.known;
        let texts = [&known.title, &known.name, &known.kind, &known.status, &known.content];
        let texts = texts.into_iter().flatten().map(String::len);
        let paths = known.locations.iter().flatten().map(String::len);
        let diffs = known.diffs.iter().flatten().map(|diff| diff.path.len());
        let paths: usize = paths.chain(diffs).map(|path| path + size_of::<String>()).sum();
        CALL_BYTES + known.id.len() + texts.sum::<usize>() + paths + known.touched.bytes()
    }
}

/// Keeps only the fields of a message that are read later: a call's arguments and answers may be whole files.
fn shortened(mut update: ToolCallUpdate) -> ToolCallUpdate {
    for text in [&mut update.title, &mut update.content].into_iter().flatten() {
        shorten(text, TEXT_BYTES);
    }
    for word in [&mut update.name, &mut update.kind, &mut update.status] {
        word.take_if(|word| word.len() > WORD_BYTES);
    }
    // The server and the tool, which mark a question about one of our own tools.
    update.raw_input = update.raw_input.and_then(|input| {
        let short: Map<_, _> = ["server", "tool"]
            .into_iter()
            .filter_map(|field| Some((field.to_owned(), short_word(input.get(field)?)?)))
            .collect();
        (!short.is_empty()).then_some(Value::Object(short))
    });
    let name = update.meta.as_ref().and_then(name_in_meta);
    let name = name.filter(|name| name.len() <= WORD_BYTES);
    update.meta = name.map(|name| serde_json::json!({ "toolName": name }));
    update
}

fn short_word(value: &Value) -> Option<Value> {
    let word = value.as_str().filter(|word| word.len() <= WORD_BYTES)?;
    Some(Value::from(word))
}

fn shorten(text: &mut String, most: usize) {
    if text.len() > most {
        let end = (0..=most).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or_default());
        text.shrink_to_fit();
    }
}

/// Returns the tool's name where the agent states it as such: `name`, `_meta.toolName` (qwen), or `_meta.claudeCode.toolName` (claude).
pub(crate) fn stated_name(call: &ToolCallUpdate) -> Option<&str> {
    call.name.as_deref().or_else(|| call.meta.as_ref().and_then(name_in_meta))
}

/// Returns the tool's name in an agent's additions; an empty one, which no tool has, if it is not a text.
pub(crate) fn name_in_meta(meta: &Value) -> Option<&str> {
    if !meta.is_object() {
        return Some("");
    }
    [meta.pointer("/toolName"), meta.pointer("/claudeCode/toolName")]
        .into_iter()
        .flatten()
        .find(|name| !name.is_null())
        .map(|name| name.as_str().unwrap_or_default())
}

/// The tool calls of one session, by id: only the fields that are read later, and only the newest of very many calls.
#[derive(Debug, Clone, Default)]
pub struct ToolCalls {
    by_id: HashMap<String, ToolCall>,
    /// The ids in the order of their first messages.
    in_order: BTreeMap<usize, String>,
    /// The number of calls so far.
    seen: usize,
    bytes: usize,
    forgotten: u64,
}

impl ToolCalls {
    /// Takes in a message about a call, from an update or a permission question, and returns the call as now known.
    pub fn see(&mut self, update: ToolCallUpdate) -> &ToolCall {
        let update = shortened(update);
        let id = update.id.clone();
        let mut call = self.by_id.remove(&id).unwrap_or_else(|| {
            let number = self.seen;
            self.seen += 1;
            self.in_order.insert(number, id.clone());
            let mut known = ToolCallUpdate { id: id.clone(), ..ToolCallUpdate::default() };
            if self.forgotten > 0 {
                // It may be one of the forgotten calls, whose places are unknown.
                known.touched.miss();
            }
            let call = ToolCall { number, known };
            self.bytes += call.bytes();
            call
        });
        self.bytes -= call.bytes();
        call.merge(update);
        self.bytes += call.bytes();
        self.forget_for(call.number);
        self.by_id.entry(id).or_insert(call)
    }

    /// Forgets calls until this one and the others are within the bounds.
    fn forget_for(&mut self, number: usize) {
        // The order includes the call itself, the other calls do not.
        while (self.in_order.len() > MOST_CALLS || self.bytes > MOST_BYTES)
            && !self.by_id.is_empty()
        {
            let others = self.in_order.iter().filter(|(other, _)| **other != number);
            let is_over = |id: &String| self.by_id.get(id).is_some_and(ToolCall::is_over);
            let over = others.clone().find(|(_, id)| is_over(id));
            let Some((oldest, id)) = over.or_else(|| others.clone().next()) else {
                return;
            };
            let (oldest, id) = (*oldest, id.clone());
            self.in_order.remove(&oldest);
            if let Some(call) = self.by_id.remove(&id) {
                self.bytes -= call.bytes();
                self.forgotten += 1;
            }
        }
    }

    /// Returns a call by its id.
    pub fn get(&self, id: &str) -> Option<&ToolCall> {
        self.by_id.get(id)
    }

    /// Returns all remembered calls, in the order of their first messages.
    pub fn all(&self) -> Vec<&ToolCall> {
        let ids = self.in_order.values();
        ids.filter_map(|id| self.by_id.get(id)).collect()
    }

    /// Returns the number of forgotten calls.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Returns the calls that have not ended, in no order.
    pub fn running(&self) -> impl Iterator<Item = &ToolCall> {
        self.by_id.values().filter(|call| !call.is_over())
    }

    /// Forgets all calls. The end of a turn leaves none running, so the owner clears them for the next turn.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
#[expect(
    clippy::needless_pass_by_value,
    reason = "the literals read better without a reference at every call"
)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(fields: Value) -> ToolCallUpdate {
        ToolCallUpdate::parse(&fields).expect("the message has an id")
    }

    #[test]
    fn the_first_message_with_an_id_makes_the_call() {
        let mut calls = ToolCalls::default();
        let call = calls.see(message(json!({"toolCallId": "c", "status": "in_progress"})));
        assert_eq!(
            (call.id(), call.title(), call.kind(), call.status()),
            ("c", "", "other", "in_progress")
        );
        assert_eq!(calls.running().count(), 1);
    }

    #[test]
    fn a_later_message_changes_only_what_it_mentions() {
        let mut calls = ToolCalls::default();
        calls.see(message(json!({"toolCallId": "c", "title": "Run tests", "kind": "execute", "rawInput": {"a": 1}})));
        let call = calls.see(message(json!({"toolCallId": "c", "status": "completed"})));
        assert_eq!(
            (call.title(), call.kind(), call.status()),
            ("Run tests", "execute", "completed")
        );
        assert!(call.is_over());
        assert_eq!(calls.running().count(), 0);
        calls.clear();
        assert!(calls.get("c").is_none());
    }

    #[test]
    fn only_fields_that_are_read_later_are_kept() {
        let mut calls = ToolCalls::default();
        let whole = "x".repeat(1024 * 1024);
        let call = calls.see(message(json!({
            "toolCallId": "c", "title": whole, "kind": whole, "status": "in_progress",
            "rawInput": {"server": "bridge", "tool": "ping", "arguments": {"text": whole}},
            "content": [{"type": "content", "content": {"type": "text", "text": whole}}],
            "_meta": {"toolName": "mcp__bridge__ping", "more": whole},
        })));
        let server_and_tool = json!({"server": "bridge", "tool": "ping"});
        assert_eq!(call.known().raw_input, Some(server_and_tool.clone()));
        assert_eq!(call.name(), "mcp__bridge__ping");
        assert!(call.bytes() < 64 * 1024, "{}", call.bytes());
        let call = calls
            .see(message(json!({"toolCallId": "c", "status": "completed", "rawInput": {"x": 1}})));
        assert_eq!(call.known().raw_input, Some(server_and_tool));
        assert_eq!(call.known().content, None);
    }

    #[test]
    fn a_word_that_is_too_long_is_dropped_so_that_no_half_of_a_key_is_left() {
        let word = format!("{}sk-1234567890", "x".repeat(WORD_BYTES - 8));
        let call = json!({"toolCallId": "c", "name": word, "kind": word, "status": word, "_meta": {"toolName": word}});
        let mut calls = ToolCalls::default();
        let call = calls.see(message(call));
        assert_eq!((call.name(), call.kind(), call.status()), ("", "other", "pending"));
    }

    #[test]
    fn the_newest_calls_are_remembered_and_the_others_counted() {
        let mut calls = ToolCalls::default();
        let path = "x".repeat(1024);
        calls.see(message(json!({"toolCallId": "running", "status": "in_progress"})));
        for number in 0..100_000 {
            let call = json!({
                "toolCallId": format!("c{number}"), "kind": "edit", "status": "completed",
                "locations": [{"path": path}], "rawInput": {"text": path},
            });
            calls.see(message(call));
        }
        let all = calls.all();
        assert!(all.len() <= MOST_CALLS);
        assert_eq!(all.first().map(|call| call.id()), Some("running"));
        assert_eq!(all.last().map(|call| call.id()), Some("c99999"));
        assert_eq!(calls.forgotten() + all.len() as u64, 100_001);
        let bytes: usize = all.iter().map(|call| call.bytes()).sum();
        assert_eq!(bytes, calls.bytes);
        // A few large calls.
        let mut calls = ToolCalls::default();
        for number in 0..40 {
            let paths = vec![json!({"path": path}); 1024];
            calls.see(message(json!({"toolCallId": format!("c{number}"), "locations": paths})));
        }
        assert!(calls.bytes <= MOST_BYTES, "{}", calls.bytes);
        assert_eq!(calls.forgotten() + calls.all().len() as u64, 40);
    }

    #[test]
    fn places_of_earlier_messages_stay_with_the_call() {
        let mut calls = ToolCalls::default();
        calls.see(message(json!({
            "toolCallId": "c", "kind": "edit", "locations": [{"path": ".claude/settings.json"}],
        })));
        let call = calls.see(message(json!({
            "toolCallId": "c", "kind": "read", "locations": [{"path": "src/main.rs"}],
        })));
        assert_eq!(call.touched().paths(), [".claude/settings.json", "src/main.rs"]);
        assert_eq!((call.touched().kind(), call.kind()), ("edit", "read"));
        // A later message that names fewer places removes none.
        let call = calls.see(message(json!({"toolCallId": "c", "locations": []})));
        assert_eq!(call.touched().paths().len(), 2);
    }

    #[test]
    fn a_call_that_may_have_been_forgotten_has_an_unknown_place() {
        let mut calls = ToolCalls::default();
        let seen = |calls: &mut ToolCalls, id: &str| {
            let call =
                json!({"toolCallId": id, "status": "completed", "locations": [{"path": "a"}]});
            calls.see(message(call)).touched().paths().to_vec()
        };
        for number in 0..=MOST_CALLS {
            assert_eq!(seen(&mut calls, &format!("c{number}")), ["a"]);
        }
        assert_eq!(seen(&mut calls, "c0"), ["", "a"]);
    }

    #[test]
    fn a_stated_name_goes_before_the_title() {
        let check =
            |fields, name: &str| assert_eq!(ToolCalls::default().see(message(fields)).name(), name);
        check(
            json!({"toolCallId": "c", "title": "{\"text\":1}", "_meta": {"toolName": "mcp__b__ping"}}),
            "mcp__b__ping",
        );
        check(
            json!({"toolCallId": "c", "title": "t", "_meta": {"claudeCode": {"toolName": "Bash"}}}),
            "Bash",
        );
        check(
            json!({"toolCallId": "c", "title": "t", "name": "grep", "_meta": {"toolName": "x"}}),
            "grep",
        );
        check(json!({"toolCallId": "c", "title": "t", "_meta": {"toolName": 5}}), "t");
    }
}
