//! `OpenAI` Responses, with the kinds of tools that Codex sends.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{id, list, string};
use crate::model::hidden_tools::ToolCall;
use crate::model::request::{Api, Item, Request, Speaker, ToolDefinition, text_of};

pub(super) fn read(body: &Value) -> Request {
    let mut tools = Vec::new();
    flatten(&body["tools"], None, &mut tools);
    let mut items = Vec::new();
    if let Some(text) = body["input"].as_str() {
        items.push(Item::new(Speaker::User, text));
    }
    let mut names = BTreeMap::new();
    for item in list(&body["input"]) {
        let kind = item["type"].as_str().unwrap_or("message");
        // Tools that a search found, or that the agent adds later, may be called as well.
        if matches!(kind, "additional_tools" | "tool_search_output") {
            flatten(&item["tools"], None, &mut tools);
        }
        let call = string(&item["call_id"]);
        if kind == "message" {
            let speaker = Item::speaker(item["role"].as_str());
            match item["content"].as_array() {
                Some(parts) => {
                    items.extend(parts.iter().map(|part| Item::new(speaker, text_of(part))));
                }
                None => items.push(Item::new(speaker, text_of(&item["content"]))),
            }
        } else if kind.ends_with("_call") {
            let name = item["name"].as_str().unwrap_or_else(|| kind.trim_end_matches("_call"));
            names.insert(call, name.to_owned());
            items.push(Item::of_tool(Speaker::Model, "", Some(name.to_owned())));
        } else if kind.ends_with("_output") {
            let text = text_of(item.get("output").unwrap_or(&item["tools"]));
            items.push(Item::of_tool(Speaker::Tool, text, names.get(&call).cloned()));
        }
    }
    Request {
        api: Api::Responses,
        model: string(&body["model"]),
        stream: body["stream"] == true,
        schema: body.pointer("/text/format/schema").cloned(),
        tools,
        items,
        raw: String::new(),
    }
}

/// Collects tools, including those in namespaces; `functions` is the namespace of plain tools.
fn flatten(tools: &Value, namespace: Option<&str>, found: &mut Vec<ToolDefinition>) {
    for tool in list(tools) {
        let kind = string(&tool["type"]);
        if kind == "namespace" {
            flatten(&tool["tools"], tool["name"].as_str(), found);
            continue;
        }
        let wire = tool["name"].as_str().unwrap_or(&kind).to_owned();
        let namespace = namespace.filter(|namespace| *namespace != "functions");
        let definition = ToolDefinition {
            name: namespace.map_or_else(|| wire.clone(), |namespace| format!("{namespace}/{wire}")),
            wire,
            namespace: namespace.map(str::to_owned),
            kind,
        };
        if !found.contains(&definition) {
            found.push(definition);
        }
    }
}

pub(super) fn whole(model: &str, text: &str, calls: &[ToolCall]) -> Value {
    response(&id("resp_"), model, "completed", &output(text, calls))
}

pub(super) fn stream(model: &str, text: &str, calls: &[ToolCall]) -> Vec<Value> {
    let answer = id("resp_");
    let begun = response(&answer, model, "in_progress", &[]);
    let mut events = vec![
        json!({ "type": "response.created", "response": begun }),
        json!({ "type": "response.in_progress", "response": begun }),
    ];
    let items = output(text, calls);
    for (index, item) in items.iter().enumerate() {
        let mut begun = item.clone();
        begun["status"] = json!("in_progress");
        if item["type"] == "message" {
            begun["content"] = json!([]);
        }
        events.push(
            json!({ "type": "response.output_item.added", "output_index": index, "item": begun }),
        );
        let place =
            |kind: &str| json!({ "type": kind, "item_id": item["id"], "output_index": index });
        if item["type"] == "message" {
            let with = |kind: &str, key: &str, value: Value| {
                let mut event = place(kind);
                event["content_index"] = json!(0);
                event[key] = value;
                event
            };
            let empty = json!({ "type": "output_text", "text": "", "annotations": [] });
            events.push(with("response.content_part.added", "part", empty));
            events.push(with("response.output_text.delta", "delta", json!(text)));
            events.push(with("response.output_text.done", "text", json!(text)));
            events.push(with("response.content_part.done", "part", item["content"][0].clone()));
        }
        if item["type"] == "function_call" {
            let mut delta = place("response.function_call_arguments.delta");
            delta["delta"] = item["arguments"].clone();
            let mut done = place("response.function_call_arguments.done");
            done["arguments"] = item["arguments"].clone();
            events.extend([delta, done]);
        }
        events.push(
            json!({ "type": "response.output_item.done", "output_index": index, "item": item }),
        );
    }
    let done = response(&answer, model, "completed", &items);
    events.push(json!({ "type": "response.completed", "response": done }));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    events
}

fn output(text: &str, calls: &[ToolCall]) -> Vec<Value> {
    let mut items = Vec::new();
    if !text.is_empty() {
        items.push(json!({
            "type": "message", "id": id("msg_"), "role": "assistant", "status": "completed",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }],
        }));
    }
    items.extend(calls.iter().map(item_of));
    items
}

fn item_of(call: &ToolCall) -> Value {
    let (tool, arguments) = (&call.tool, &call.arguments);
    let call_id = id("call_");
    match tool.kind.as_str() {
        "tool_search" => {
            let query = string(&arguments["query"]);
            let query = query.trim_start_matches("select:");
            json!({
                "type": "tool_search_call", "id": id("ts_"), "call_id": call_id, "execution": "client",
                "status": "completed", "arguments": { "query": query, "limit": 5 },
            })
        }
        "custom" => {
            let input =
                arguments["input"].as_str().map_or_else(|| arguments.to_string(), str::to_owned);
            json!({
                "type": "custom_tool_call", "id": id("ctc_"), "call_id": call_id, "name": tool.wire,
                "input": input, "status": "completed",
            })
        }
        _ => {
            let mut item = json!({
                "type": "function_call", "id": id("fc_"), "call_id": call_id, "name": tool.wire,
                "arguments": arguments.to_string(), "status": "completed",
            });
            if let Some(namespace) = &tool.namespace {
                item["namespace"] = json!(namespace);
            }
            item
        }
    }
}

fn response(answer: &str, model: &str, status: &str, output: &[Value]) -> Value {
    let usage = (status == "completed").then(|| {
        json!({
            "input_tokens": 11, "input_tokens_details": { "cached_tokens": 0 },
            "output_tokens": 7, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 18,
        })
    });
    json!({
        "id": answer, "object": "response", "created_at": 1, "status": status, "model": model, "output": output,
        "error": null, "incomplete_details": null, "parallel_tool_calls": true, "tools": [], "usage": usage,
    })
}
