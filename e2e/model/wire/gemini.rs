//! Gemini's generateContent and streamGenerateContent.

use serde_json::{Value, json};

use super::{id, list, string};
use crate::model::hidden_tools::ToolCall;
use crate::model::request::{Api, Item, Request, Speaker, ToolDefinition};

pub(super) fn read(path: &str, body: &Value) -> Request {
    let mut items = Vec::new();
    for content in list(&body["contents"]) {
        let speaker = Item::speaker(content["role"].as_str().or(Some("user")));
        for part in list(&content["parts"]) {
            if let Some(response) = part.get("functionResponse") {
                let tool = Some(string(&response["name"]));
                items.push(Item::of_tool(Speaker::Tool, response["response"].to_string(), tool));
            } else if let Some(call) = part.get("functionCall") {
                items.push(Item::of_tool(Speaker::Model, "", Some(string(&call["name"]))));
            } else if let Some(text) = part["text"].as_str() {
                items.push(Item::new(speaker, text));
            }
        }
    }
    let (model, method) =
        path.rsplit('/').next().and_then(|last| last.split_once(':')).unwrap_or_default();
    let generation = &body["generationConfig"];
    Request {
        api: Api::Gemini,
        model: model.to_owned(),
        stream: method.starts_with("stream"),
        schema: ["responseJsonSchema", "responseSchema"]
            .iter()
            .find_map(|key| generation.get(*key).cloned()),
        tools: list(&body["tools"])
            .flat_map(|tool| list(&tool["functionDeclarations"]))
            .map(|function| ToolDefinition::plain(&string(&function["name"])))
            .collect(),
        items,
        raw: String::new(),
    }
}

pub(super) fn whole(model: &str, text: &str, calls: &[ToolCall]) -> Value {
    let mut parts = Vec::new();
    if !text.is_empty() {
        parts.push(json!({ "text": text }));
    }
    parts.extend(calls.iter().map(|call| {
        json!({ "functionCall": { "id": id("call"), "name": call.tool.wire, "args": call.arguments } })
    }));
    if parts.is_empty() {
        parts.push(json!({ "text": "" }));
    }
    json!({
        "candidates": [{ "content": { "role": "model", "parts": parts }, "index": 0, "finishReason": "STOP" }],
        "modelVersion": model, "responseId": id("r"),
        "usageMetadata": { "promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18 },
    })
}

pub(super) fn stream(model: &str, text: &str, calls: &[ToolCall]) -> Vec<Value> {
    vec![whole(model, text, calls)]
}
