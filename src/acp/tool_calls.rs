//! The tool calls of a session, put together from whatever messages mention them.
//!
//! Agents do not agree how a call begins: gemini may ask permission for a call that it never announced, and send a
//! `tool_call_update` for an id that is new. So the first sight of an id makes the call, whatever the message.

use super::update::ToolCallUpdate;
use serde_json::Value;
use std::collections::HashMap;

/// One tool call, as far as it is known.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// How many calls were seen before it.
    number: usize,
    known: ToolCallUpdate,
}

impl ToolCall {
    /// Returns the call's id.
    pub fn id(&self) -> &str {
        &self.known.id
    }

    /// Returns what people are shown, empty when nothing was told yet.
    pub fn title(&self) -> &str {
        self.known.title.as_deref().unwrap_or_default()
    }

    /// Returns the kind, `other` when none was told.
    pub fn kind(&self) -> &str {
        self.known.kind.as_deref().unwrap_or("other")
    }

    /// Returns the status, `pending` when none was told.
    pub fn status(&self) -> &str {
        self.known.status.as_deref().unwrap_or("pending")
    }

    /// Returns whether the call came to its end, well or not.
    pub fn is_over(&self) -> bool {
        matches!(self.status(), "completed" | "failed")
    }

    /// Returns the best guess at the tool's name: its own field, else what the agent's additions say, else the title.
    pub fn name(&self) -> &str {
        stated_name(&self.known).unwrap_or_else(|| self.title())
    }

    /// Returns everything that is known, in the form of one message.
    pub fn known(&self) -> &ToolCallUpdate {
        &self.known
    }

    fn merge(&mut self, update: ToolCallUpdate) {
        fn newer<T>(known: &mut Option<T>, told: Option<T>) {
            if told.is_some() {
                *known = told;
            }
        }
        let ToolCallUpdate {
            id: _,
            title,
            name,
            kind,
            status,
            locations,
            diffs,
            raw_input,
            content,
            meta,
        } = update;
        newer(&mut self.known.title, title);
        newer(&mut self.known.name, name);
        newer(&mut self.known.kind, kind);
        newer(&mut self.known.status, status);
        newer(&mut self.known.locations, locations);
        newer(&mut self.known.diffs, diffs);
        newer(&mut self.known.raw_input, raw_input);
        newer(&mut self.known.content, content);
        newer(&mut self.known.meta, meta);
    }
}

/// Returns the tool's name where the agent states it as such: `name`, `_meta.toolName` (qwen), or
/// `_meta.claudeCode.toolName` (claude).
pub(super) fn stated_name(call: &ToolCallUpdate) -> Option<&str> {
    call.name
        .as_deref()
        .or_else(|| call.meta.as_ref().and_then(name_in_meta))
}

/// Returns the tool's name that an agent's additions state.
pub(super) fn name_in_meta(meta: &Value) -> Option<&str> {
    [
        meta.pointer("/toolName"),
        meta.pointer("/claudeCode/toolName"),
    ]
    .into_iter()
    .flatten()
    .find_map(Value::as_str)
}

/// The tool calls of one session, by id.
#[derive(Debug, Clone, Default)]
pub struct ToolCalls {
    by_id: HashMap<String, ToolCall>,
}

impl ToolCalls {
    /// Takes in a message about a call, from an update or a permission question, and returns the call as now known.
    pub fn see(&mut self, update: ToolCallUpdate) -> &ToolCall {
        use std::collections::hash_map::Entry;
        let number = self.by_id.len();
        match self.by_id.entry(update.id.clone()) {
            Entry::Occupied(call) => {
                let call = call.into_mut();
                call.merge(update);
                call
            }
            Entry::Vacant(place) => place.insert(ToolCall {
                number,
                known: update,
            }),
        }
    }

    /// Returns a call by its id.
    pub fn get(&self, id: &str) -> Option<&ToolCall> {
        self.by_id.get(id)
    }

    /// Returns all calls, in the order in which they were first seen.
    pub fn all(&self) -> Vec<&ToolCall> {
        let mut all: Vec<_> = self.by_id.values().collect();
        all.sort_by_key(|call| call.number);
        all
    }

    /// Returns the calls that have not come to their end, in no order.
    pub fn running(&self) -> impl Iterator<Item = &ToolCall> {
        self.by_id.values().filter(|call| !call.is_over())
    }

    /// Forgets all calls. A turn that ended leaves none running, so its owner clears them for the next turn; this is also
    /// what bounds the memory.
    pub fn clear(&mut self) {
        self.by_id.clear();
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
    fn the_first_sight_of_an_id_makes_the_call() {
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
        assert_eq!(call.known().raw_input, Some(json!({"a": 1})));
        assert!(call.is_over());
        assert_eq!(calls.running().count(), 0);
        calls.clear();
        assert!(calls.get("c").is_none());
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
        check(
            json!({"toolCallId": "c", "title": "t", "_meta": {"toolName": 5}}),
            "t",
        );
    }
}
