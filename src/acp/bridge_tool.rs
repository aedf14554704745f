//! Recognises a permission question about a tool of our own endpoint, which is always allowed.
//!
//! Agents name an MCP tool in shapes of their own, and some show only its arguments. Only whole, exact shapes count: a text that merely
//! contains our words may name another server's tool, or be words that a model chose.

use super::data::tool_call_update::ToolCallUpdate;
use super::data::tool_calls::{ToolCall, name_in_meta, stated_name};
use super::incoming::permission_request::PermissionRequest;
use serde_json::Value;

/// The tools of our own endpoint, and the name by which the agent knows our server.
#[derive(Debug, Clone, Copy)]
pub struct OurTools<'a> {
    /// The MCP server's name, as given in `session/new`.
    pub server: &'a str,
    /// The names of its tools.
    pub tools: &'a [&'a str],
}

/// Says whether a question is about one of our tools. `earlier` is the same call as known from other messages.
///
/// The first source that names any tool decides, in this order, so that a weaker one cannot overrule a stronger:
///
/// 1. The tool's name as the agent states it (`name`, `_meta.toolName`, `_meta.claudeCode.toolName`), in the question or
///    the call, now or earlier (claude, qwen).
/// 2. The `server` and `tool` beside the arguments of an earlier message, if the question has `is_mcp_tool_approval`
///    (codex). Without that mark the input is the model's: another server's tool may take arguments of these names.
/// 3. A title that is nothing but the name in one of the known shapes (droid), unless any message marks the call as one
///    that runs a command or changes files: such titles are often the model's own words.
/// 4. Under the same condition, gemini's title `TOOL (SERVER MCP Server)`, if the arguments beside it have no `command`:
///    gemini shows that argument, of any server's tool, as the title.
pub fn is_our_tool(
    request: &PermissionRequest,
    earlier: Option<&ToolCall>,
    ours: OurTools<'_>,
) -> bool {
    let now = &request.tool_call;
    let earlier = earlier.map(ToolCall::known).filter(|earlier| earlier.id == now.id);
    let calls = || [Some(now), earlier].into_iter().flatten();
    let stated = request.meta.as_ref().and_then(name_in_meta).or_else(|| stated_name(now));
    if let Some(name) = stated.or_else(|| earlier.and_then(stated_name)) {
        return ours.has(name);
    }
    if is_codex_approval(request) {
        return [earlier, Some(now)]
            .into_iter()
            .flatten()
            .find_map(server_and_tool)
            .is_some_and(|(server, tool)| server == ours.server && ours.tools.contains(&tool));
    }
    let does_harm = |call: &ToolCallUpdate| {
        matches!(call.touched.kind(), "execute" | "edit" | "delete" | "move")
    };
    if calls().any(does_harm) {
        return false;
    }
    now.title.as_deref().or_else(|| earlier?.title.as_deref()).is_some_and(|title| {
        ours.has(title)
            || ours.has_displayed(title) && now.content.as_deref().is_some_and(has_no_command)
    })
}

impl OurTools<'_> {
    /// Says whether gemini shows one of our tools with this title.
    fn has_displayed(&self, title: &str) -> bool {
        title
            .strip_suffix(&format!(" ({} MCP Server)", self.server))
            .is_some_and(|tool| self.tools.contains(&tool))
    }

    /// Says whether a name is that of one of our tools, in a shape that includes our server's name.
    fn has(&self, name: &str) -> bool {
        let server = self.server;
        // claude and qwen; gemini; droid; codex. The name alone does not decide whether `mcp_bridge_x_ping` is our `x_ping` or `ping` of
        // a server `bridge_x`, so it is compared with the full names of our tools.
        [
            format!("mcp__{server}__"),
            format!("mcp_{server}_"),
            format!("{server}___"),
            format!("mcp.{server}."),
        ]
        .iter()
        .any(|prefix| {
            name.strip_prefix(prefix.as_str()).is_some_and(|tool| self.tools.contains(&tool))
        })
    }
}

/// Says whether the arguments that gemini shows have no `command`: as JSON, or, if that is longer than 500 characters, as the names of
/// the first five.
fn has_no_command(shown: &str) -> bool {
    if let Some(names) = shown
        .strip_prefix("[Payload omitted due to length with parameters: ")
        .and_then(|rest| rest.strip_suffix(']'))
    {
        return names.split(", ").all(|name| !matches!(name, "command" | "..."));
    }
    match serde_json::from_str(shown) {
        Ok(Value::Object(arguments)) => !arguments.contains_key("command"),
        _ => false,
    }
}

fn is_codex_approval(request: &PermissionRequest) -> bool {
    let marked = |meta: &Option<Value>| {
        meta.as_ref().is_some_and(|meta| meta["is_mcp_tool_approval"] == true)
    };
    marked(&request.meta) || marked(&request.tool_call.meta)
}

fn server_and_tool(call: &ToolCallUpdate) -> Option<(&str, &str)> {
    let input = call.raw_input.as_ref()?;
    Some((input.get("server")?.as_str()?, input.get("tool")?.as_str()?))
}

#[cfg(test)]
#[expect(
    clippy::needless_pass_by_value,
    reason = "the literals read better without a reference at every call"
)]
mod tests {
    use super::*;
    use crate::acp::data::tool_calls::ToolCalls;
    use serde_json::json;

    const OURS: OurTools<'_> = OurTools { server: "bridge", tools: &["ping", "check_messages"] };

    /// Asks about a question and, if given, an earlier message.
    fn ours(question: Value, earlier: Option<Value>) -> bool {
        let mut params = json!({"sessionId": "s", "options": []});
        params
            .as_object_mut()
            .expect("an object")
            .extend(question.as_object().expect("an object").clone());
        let request = PermissionRequest::parse(&params).expect("the question is well formed");
        let mut calls = ToolCalls::default();
        if let Some(earlier) = earlier {
            calls.see(ToolCallUpdate::parse(&earlier).expect("the message has an id"));
        }
        is_our_tool(&request, calls.get(&request.tool_call.id), OURS)
    }

    fn titled(title: &str) -> bool {
        ours(json!({"toolCall": {"toolCallId": "c", "title": title}}), None)
    }

    #[test]
    fn our_tools_are_recognised_in_the_shapes_of_all_agents() {
        for title in ["mcp__bridge__ping", "mcp_bridge_ping", "bridge___ping", "mcp.bridge.ping"] {
            assert!(titled(title), "{title}");
        }
        assert!(titled("mcp_bridge_check_messages"));
    }

    #[test]
    fn a_stated_name_that_is_not_a_text_is_not_ours() {
        let call = |field: &str, stated: Value| json!({"toolCall": {"toolCallId": "c", "title": "mcp__bridge__ping", field: stated}});
        let no_text = json!(["run", "mcp__bridge__ping"]);
        assert!(!ours(call("name", no_text.clone()), None));
        assert!(!ours(call("_meta", json!({"toolName": no_text})), None));
        assert!(!ours(call("_meta", json!({"claudeCode": {"toolName": no_text}})), None));
        assert!(!ours(call("_meta", json!([{"toolName": "mcp__bridge__ping"}])), None));
        let earlier = json!({"toolCallId": "c", "name": no_text});
        let now = json!({"toolCall": {"toolCallId": "c", "title": "mcp__bridge__ping"}});
        assert!(!ours(now, Some(earlier)));
        for absent in [json!(null), json!("")] {
            assert!(ours(call("name", absent), None));
        }
        assert!(ours(call("_meta", json!(null)), None));
        assert!(ours(call("_meta", json!({"toolName": null})), None));
    }

    #[test]
    fn claude_states_the_name_beside_a_friendly_title() {
        let call = json!({"toolCallId": "c", "title": "Ping", "_meta": {"claudeCode": {"toolName": "mcp__bridge__ping"}}});
        assert!(ours(json!({"toolCall": call}), None));
    }

    #[test]
    fn qwen_states_the_name_beside_its_arguments() {
        let call = json!({"toolCallId": "c", "title": "{\"text\":\"hi\"}", "_meta": {"toolName": "mcp__bridge__ping"}});
        assert!(ours(json!({"toolCall": call.clone()}), None));
        assert!(ours(
            json!({"toolCall": {"toolCallId": "c", "title": "{}"}, "_meta": {"toolName": "mcp__bridge__ping"}}),
            None
        ));
        assert!(ours(json!({"toolCall": {"toolCallId": "c", "title": "{}"}}), Some(call)));
    }

    #[test]
    fn gemini_shows_the_name_with_the_server_and_the_arguments() {
        let shown = |arguments: &str, kind: &str| {
            ours(
                json!({"toolCall": {"toolCallId": "c", "title": "ping (bridge MCP Server)", "kind": kind,
                    "content": [{"type": "content", "content": {"type": "text", "text": arguments}}]}}),
                None,
            )
        };
        assert!(shown("{}", "other"));
        assert!(shown("{\"text\":\"command\"}", "other"));
        let long = |names| format!("[Payload omitted due to length with parameters: {names}]");
        assert!(shown(&long("to, content"), "other"));
        // The command of another server's tool, which repeats our title.
        assert!(!shown("{\"command\":\"ping (bridge MCP Server)\"}", "other"));
        assert!(!shown(&long("text, command"), "other"));
        assert!(!shown(&long("a, b, c, d, e, ..."), "other"));
        assert!(!shown("[Payload omitted due to length]", "other"));
        assert!(!shown("not JSON", "other"));
        assert!(!shown("{}", "execute"));
    }

    #[test]
    fn codex_names_the_tool_only_in_the_earlier_message() {
        let question = json!({"toolCall": {"toolCallId": "c", "kind": "execute"}, "_meta": {"is_mcp_tool_approval": true}});
        let earlier = |server, tool, id| {
            Some(json!({"toolCallId": id, "title": format!("mcp.{server}.{tool}"),
                "rawInput": {"server": server, "tool": tool, "arguments": {}}}))
        };
        assert!(ours(question.clone(), earlier("bridge", "ping", "c")));
        assert!(!ours(question.clone(), earlier("bridge", "wipe", "c")));
        assert!(!ours(question.clone(), earlier("bridge_x", "ping", "c")));
        assert!(!ours(question.clone(), earlier("bridge", "ping", "another")));
        assert!(!ours(question, None));
    }

    #[test]
    fn other_servers_and_words_around_our_name_do_not_fool_it() {
        for title in [
            "ping",
            "bridge ping",
            "mcp__bridge_x__ping",
            "mcp_bridge_x_ping",
            "bridge_x___ping",
            "mcp__x__bridge___ping",
            "run mcp__bridge__ping",
            "mcp__bridge__ping ",
            "mcp__bridge__ping; rm -rf x",
            "`mcp__bridge__ping`",
            "mcp__bridge__",
            "mcp__bridge__pingx",
            "MCP__BRIDGE__PING",
            "ping (bridge MCP Server)",
            "",
        ] {
            assert!(!titled(title), "{title}");
        }
    }

    #[test]
    fn a_stated_name_overrules_a_title_that_looks_like_ours() {
        let call = json!({"toolCallId": "c", "title": "mcp__bridge__ping", "_meta": {"toolName": "mcp__other__wipe"}});
        assert!(!ours(json!({"toolCall": call}), None));
        let call = json!({"toolCallId": "c", "title": "mcp__bridge__ping"});
        assert!(!ours(json!({"toolCall": call}), Some(json!({"toolCallId": "c", "name": "Bash"}))));
    }

    #[test]
    fn the_words_of_a_command_are_not_a_name() {
        for kind in ["execute", "edit", "delete", "move"] {
            let call = json!({"toolCallId": "c", "title": "mcp__bridge__ping", "kind": kind});
            assert!(!ours(json!({"toolCall": call}), None), "{kind}");
        }
    }

    #[test]
    fn a_call_that_runs_a_command_keeps_doing_so_under_later_kinds() {
        let titled = json!({"toolCallId": "c", "title": "mcp__bridge__ping", "kind": "other"});
        for earlier in [
            json!({"toolCallId": "c", "kind": "execute"}),
            json!({"toolCallId": "c", "rawInput": {"command": "x"}}),
        ] {
            assert!(!ours(json!({"toolCall": titled}), Some(earlier)));
        }
    }

    #[test]
    fn arguments_called_server_and_tool_are_not_a_name() {
        let call = json!({"toolCallId": "c", "title": "mcp__other__call", "rawInput": {"server": "bridge", "tool": "ping"}});
        assert!(!ours(json!({"toolCall": call}), None));
        let call = json!({"toolCallId": "c", "rawInput": {"server": "bridge", "tool": "ping"}});
        assert!(!ours(json!({"toolCall": call}), None));
    }
}
