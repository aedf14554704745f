//! `OpenAI` Chat Completions.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{id, list, string};
use crate::model::hidden_tools::ToolCall;
use crate::model::request::{Api, Item, Request, Speaker, ToolDefinition, text_of};

pub(super) fn read(body: &Value) -> Request {
    let mut items = Vec::new();
    let mut names = BTreeMap::new();
    for message in list(&body["messages"]) {
        let content = &message["content"];
        match message["role"].as_str() {
            Some("tool") => {
                let tool = names.get(&string(&message["tool_call_id"])).cloned();
                items.push(Item::of_tool(Speaker::Tool, text_of(content), tool));
            }
            Some("assistant") => {
                for call in list(&message["tool_calls"]) {
                    names.insert(string(&call["id"]), string(&call["function"]["name"]));
                }
                items.push(Item::new(Speaker::Model, text_of(content)));
            }
            role => {
                let speaker = Item::speaker(role);
                match content.as_array() {
                    Some(parts) => {
                        items.extend(parts.iter().map(|part| Item::new(speaker, text_of(part))));
                    }
                    None => items.push(Item::new(speaker, text_of(content))),
                }
            }
        }
    }
    let name = |tool: &Value| string(&tool.get("function").unwrap_or(tool)["name"]);
    Request {
        api: Api::Chat,
        model: string(&body["model"]),
        stream: body["stream"] == true,
        schema: body.pointer("/response_format/json_schema/schema").cloned(),
        tools: list(&body["tools"]).map(|tool| ToolDefinition::plain(&name(tool))).collect(),
        items,
        raw: String::new(),
    }
}

pub(super) fn whole(model: &str, text: &str, calls: &[ToolCall]) -> Value {
    let mut message = json!({ "role": "assistant", "content": text });
    if !calls.is_empty() {
        message["tool_calls"] = calls.iter().map(tool_call).collect();
    }
    json!({
        "id": id("chatcmpl-"), "object": "chat.completion", "created": 1, "model": model,
        "choices": [{ "index": 0, "message": message, "finish_reason": finish_reason(calls) }],
        "usage": usage(),
    })
}

pub(super) fn stream(model: &str, text: &str, calls: &[ToolCall]) -> Vec<Value> {
    let answer = id("chatcmpl-");
    let chunk = |delta: Value, finish: Value| {
        json!({
            "id": answer, "object": "chat.completion.chunk", "created": 1, "model": model,
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
        })
    };
    let mut events = vec![chunk(json!({ "role": "assistant", "content": text }), Value::Null)];
    for (index, call) in calls.iter().enumerate() {
        let mut part = tool_call(call);
        part["index"] = json!(index);
        events.push(chunk(json!({ "tool_calls": [part] }), Value::Null));
    }
    let mut last = chunk(json!({}), json!(finish_reason(calls)));
    last["usage"] = usage();
    events.push(last);
    events
}

fn tool_call(call: &ToolCall) -> Value {
    json!({
        "id": id("call_"), "type": "function",
        "function": { "name": call.tool.wire, "arguments": call.arguments.to_string() },
    })
}

fn finish_reason(calls: &[ToolCall]) -> &'static str {
    if calls.is_empty() { "stop" } else { "tool_calls" }
}

fn usage() -> Value {
    json!({ "prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18 })
}
