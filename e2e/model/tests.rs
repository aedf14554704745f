//! Tests of the model server itself, which need no program.

use std::time::Duration;

use libtest_mimic::Trial;
use serde_json::{Value, json};

use super::hidden_tools::names_in;
use super::pick_rule::decide;
use super::request::{Api, Newest};
use super::rule::Rule;
use super::wire;

/// Returns all tests of this file.
pub(crate) fn trials() -> Vec<Trial> {
    let named: [(&str, fn()); 7] = [
        ("a_tool_is_called_by_its_suffix_in_every_api", calls_by_suffix),
        ("a_text_is_sent_in_every_api_whole_and_as_a_stream", sends_texts),
        ("a_tool_result_is_newer_than_the_text_before_it", results_are_newer),
        ("a_hidden_tool_is_searched_for_and_then_called", calls_after_search),
        ("a_hidden_tool_is_called_by_a_script_if_only_exec_is_offered", calls_by_script),
        ("no_rule_answers_a_request_with_few_tools", ignores_few_tools),
        ("tool_names_are_found_by_their_suffix", finds_names),
    ];
    named
        .into_iter()
        .map(|(name, test)| {
            Trial::test(format!("model::{name}"), move || {
                test();
                Ok(())
            })
        })
        .collect()
}

const TOOL: &str = "mcp__bridge__send_message";

/// Returns a conversation in the form of an API: a user's text, and optionally a call of the tool with its result.
fn body(api: Api, prompt: &str, result: Option<&str>) -> Value {
    match api {
        Api::Anthropic => {
            let mut messages =
                vec![json!({ "role": "user", "content": [{ "type": "text", "text": prompt }] })];
            if let Some(result) = result {
                messages.push(json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "1", "name": TOOL, "input": {} }] }));
                messages.push(json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "1", "content": result }] }));
            }
            json!({ "model": "m", "messages": messages, "tools": [{ "name": TOOL }] })
        }
        Api::Responses => {
            let mut input = vec![
                json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": prompt }] }),
            ];
            if let Some(result) = result {
                input.push(json!({ "type": "function_call", "call_id": "1", "name": TOOL, "arguments": "{}" }));
                input.push(
                    json!({ "type": "function_call_output", "call_id": "1", "output": result }),
                );
            }
            let tool = json!({ "type": "function", "name": "send_message" });
            json!({ "model": "m", "input": input, "tools": [{ "type": "namespace", "name": "mcp__bridge", "tools": [tool] }] })
        }
        Api::Chat => {
            let mut messages = vec![json!({ "role": "user", "content": prompt })];
            if let Some(result) = result {
                let call = json!({ "id": "1", "function": { "name": TOOL, "arguments": "{}" } });
                messages
                    .push(json!({ "role": "assistant", "content": null, "tool_calls": [call] }));
                messages.push(json!({ "role": "tool", "tool_call_id": "1", "content": result }));
            }
            json!({ "model": "m", "messages": messages, "tools": [{ "type": "function", "function": { "name": TOOL } }] })
        }
        Api::Gemini => {
            let mut contents = vec![json!({ "role": "user", "parts": [{ "text": prompt }] })];
            if let Some(result) = result {
                contents.push(json!({ "role": "model", "parts": [{ "functionCall": { "name": TOOL, "args": {} } }] }));
                contents.push(json!({ "role": "user", "parts": [{ "functionResponse": { "name": TOOL, "response": { "output": result } } }] }));
            }
            json!({ "contents": contents, "tools": [{ "functionDeclarations": [{ "name": TOOL }] }] })
        }
    }
}

fn path(api: Api, stream: bool) -> &'static str {
    match (api, stream) {
        (Api::Gemini, false) => "/v1beta/models/m:generateContent",
        (Api::Gemini, true) => "/v1beta/models/m:streamGenerateContent",
        _ => "/v1/other",
    }
}

/// Answers a request by these rules, and returns the body.
fn play(rules: &[Rule], api: Api, stream: bool, mut body: Value) -> String {
    body["stream"] = json!(stream);
    let request = wire::read(api, path(api, stream), &body);
    let decision = decide(rules, &request);
    wire::answer(&request, &decision.reply.text, &decision.calls).body
}

const APIS: [Api; 4] = [Api::Anthropic, Api::Responses, Api::Chat, Api::Gemini];

fn rule(rule: Rule) -> Vec<Rule> {
    vec![rule.with_tools(1)]
}

fn calls_by_suffix() {
    for api in APIS {
        for stream in [false, true] {
            let rules = rule(
                Rule::user("greet").calls_with("send_message", |text| json!({ "content": text })),
            );
            let answer = play(&rules, api, stream, body(api, "greet them", None));
            assert!(answer.contains("send_message"), "{api:?}: {answer}");
            assert!(answer.contains("greet them"), "{api:?}: {answer}");
        }
    }
}

fn sends_texts() {
    for api in APIS {
        let rules = rule(Rule::user("greet").says("hello"));
        let whole = play(&rules, api, false, body(api, "greet", None));
        assert!(
            serde_json::from_str::<Value>(&whole).unwrap().to_string().contains("\"hello\""),
            "{whole}"
        );
        let stream = play(&rules, api, true, body(api, "greet", None));
        let events = stream
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .filter(|line| *line != "[DONE]");
        let texts = events.map(|event| serde_json::from_str::<Value>(event).unwrap().to_string());
        assert!(texts.into_iter().any(|event| event.contains("\"hello\"")), "{api:?}: {stream}");
    }
}

fn results_are_newer() {
    for api in APIS {
        let request = wire::read(api, path(api, false), &body(api, "greet", Some("msg-1 is sent")));
        let tail = request.tail();
        assert_eq!(tail.newest, Newest::ToolResult, "{api:?}");
        assert!(tail.texts[0].contains("msg-1 is sent"), "{api:?}");
        assert_eq!(tail.tool.as_deref(), Some(TOOL), "{api:?}");
    }
}

fn calls_after_search() {
    let rules = rule(Rule::user("greet").calls("send_message", json!({ "to": "ann" })));
    let user = json!({ "role": "user", "content": "greet" });
    let tools = json!([{ "type": "function", "function": { "name": "tool_search" } },
        { "type": "function", "function": { "name": "tool_call" } }]);
    let first =
        play(&rules, Api::Chat, false, json!({ "model": "m", "messages": [user], "tools": tools }));
    assert!(first.contains("tool_search") && first.contains("send_message"), "{first}");
    let call = json!({ "id": "1", "function": { "name": "tool_search", "arguments": "{}" } });
    let found = format!("found:\n{TOOL} sends a message");
    let messages = json!([user, { "role": "assistant", "tool_calls": [call] },
        { "role": "tool", "tool_call_id": "1", "content": found }]);
    let second = play(
        &rules,
        Api::Chat,
        false,
        json!({ "model": "m", "messages": messages, "tools": tools }),
    );
    assert!(
        second.contains("\"tool_call\"") && second.contains(TOOL) && second.contains("ann"),
        "{second}"
    );
}

fn calls_by_script() {
    let rules = rule(Rule::user("greet").calls("send_message", json!({ "to": "ann" })));
    let input = json!([{ "type": "message", "role": "user", "content": "greet" }]);
    let tools = json!([{ "type": "custom", "name": "exec" }]);
    let answer = play(
        &rules,
        Api::Responses,
        false,
        json!({ "model": "m", "input": input, "tools": tools }),
    );
    assert!(answer.contains("custom_tool_call") && answer.contains("endsWith"), "{answer}");
}

fn ignores_few_tools() {
    let rules = [Rule::user("greet").says("hello").after(Duration::ZERO).of(Api::Chat)];
    let answer = play(&rules, Api::Chat, false, body(Api::Chat, "greet", None));
    assert!(!answer.contains("hello"), "{answer}");
}

fn finds_names() {
    let check = |raw: &str, expected: &[&str]| assert_eq!(names_in(raw, "ping"), expected, "{raw}");
    check("call mcp__bridge__ping now", &["mcp__bridge__ping"]);
    check("\\nbridge___ping\\n", &["bridge___ping"]);
    check("ping, mcp__bridge__pings and xping", &[]);
}
