//! Anthropic Messages.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{id, list, string};
use crate::model::hidden_tools::ToolCall;
use crate::model::request::{Api, Item, Request, Speaker, ToolDefinition, text_of};

pub(super) fn read(body: &Value) -> Request {
    let mut items = Vec::new();
    let mut names = BTreeMap::new();
    for message in list(&body["messages"]) {
        let speaker = Item::speaker(message["role"].as_str());
        if let Some(text) = message["content"].as_str() {
            items.push(Item::new(speaker, text));
        }
        for part in list(&message["content"]) {
            match part["type"].as_str() {
                Some("tool_use") => {
                    let name = string(&part["name"]);
                    names.insert(string(&part["id"]), name.clone());
                    items.push(Item::of_tool(Speaker::Model, "", Some(name)));
                }
                Some("tool_result") => {
                    let tool = names.get(&string(&part["tool_use_id"])).cloned();
                    items.push(Item::of_tool(Speaker::Tool, text_of(&part["content"]), tool));
                }
                Some("text") => items.push(Item::new(speaker, string(&part["text"]))),
                _ => {}
            }
        }
    }
    Request {
        api: Api::Anthropic,
        model: string(&body["model"]),
        stream: body["stream"] == true,
        schema: body.pointer("/output_config/format/schema").cloned(),
        tools: list(&body["tools"])
            .map(|tool| ToolDefinition::plain(&string(&tool["name"])))
            .collect(),
        items,
        raw: String::new(),
    }
}

pub(super) fn whole(model: &str, text: &str, calls: &[ToolCall]) -> Value {
    let mut content = Vec::new();
    if !text.is_empty() {
        content.push(json!({ "type": "text", "text": text }));
    }
    content.extend(calls.iter().map(|call| {
        json!({ "type": "tool_use", "id": id("toolu_"), "name": call.tool.wire, "input": call.arguments })
    }));
    json!({
        "id": id("msg_"), "type": "message", "role": "assistant", "model": model, "content": content,
        "stop_reason": stop_reason(calls), "stop_sequence": null,
        "usage": { "input_tokens": 11, "output_tokens": 7 },
    })
}

pub(super) fn stream(model: &str, text: &str, calls: &[ToolCall]) -> Vec<Value> {
    let usage = json!({
        "input_tokens": 11, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1,
    });
    let mut events = vec![json!({ "type": "message_start", "message": {
        "id": id("msg_"), "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage,
    } })];
    let mut index = 0;
    let mut block = |start: Value, delta: Value| {
        events
            .push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
        events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        events.push(json!({ "type": "content_block_stop", "index": index }));
        index += 1;
    };
    if !text.is_empty() {
        block(json!({ "type": "text", "text": "" }), json!({ "type": "text_delta", "text": text }));
    }
    for call in calls {
        block(
            json!({ "type": "tool_use", "id": id("toolu_"), "name": call.tool.wire, "input": {} }),
            json!({ "type": "input_json_delta", "partial_json": call.arguments.to_string() }),
        );
    }
    let delta = json!({ "stop_reason": stop_reason(calls), "stop_sequence": null });
    events
        .push(json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 7 } }));
    events.push(json!({ "type": "message_stop" }));
    events
}

fn stop_reason(calls: &[ToolCall]) -> &'static str {
    if calls.is_empty() { "end_turn" } else { "tool_use" }
}
