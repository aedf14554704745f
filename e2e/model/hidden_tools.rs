//! How a real model calls a tool that its agent does not advertise: by a search for it, or by a script that calls it.

use cli_team_bridge::domain::tool_names::SERVER;
use serde_json::{Value, json};

use super::request::{Request, ToolDefinition};

/// The names of the tools with which agents search for tools.
pub(super) const SEARCHES: [&str; 2] = ["ToolSearch", "tool_search"];

/// A call that a model makes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ToolCall {
    pub(super) tool: ToolDefinition,
    pub(super) arguments: Value,
}

impl ToolCall {
    pub(super) fn is_search(&self) -> bool {
        SEARCHES.contains(&self.tool.wire.as_str())
    }
}

/// Calls a tool of the agent itself, which is always advertised.
pub(super) fn own(request: &Request, name: &str, arguments: Value) -> ToolCall {
    let offered = request.tools.iter().find(|tool| tool.wire == name);
    ToolCall { tool: offered.map_or_else(|| ToolDefinition::plain(name), Clone::clone), arguments }
}

/// Calls our tool whose name ends with `suffix`: directly, by a script, or after a search. `searched` says that a search has just
/// returned.
pub(super) fn ours(
    request: &Request,
    suffix: &str,
    arguments: &Value,
    searched: bool,
) -> Option<ToolCall> {
    let call = |tool: &ToolDefinition, arguments: Value| ToolCall { tool: tool.clone(), arguments };
    let tools = &request.tools;
    if let Some(tool) = tools.iter().find(|tool| is_ours(&tool.name, suffix)) {
        return Some(call(tool, arguments.clone()));
    }
    let with_wire = |wire: &str| tools.iter().find(|tool| tool.wire == wire);
    if let Some(exec) = with_wire("exec").filter(|tool| tool.kind == "custom") {
        let script = format!(
            "const t = ALL_TOOLS.find(t => t.name.includes({}) && t.name.endsWith({}));\n\
             text(t ? await tools[t.name]({arguments}) : 'no such tool');\n",
            json!(SERVER),
            json!(suffix)
        );
        return Some(call(exec, json!({ "input": script })));
    }
    let search = tools.iter().find(|tool| SEARCHES.contains(&tool.wire.as_str()))?;
    let names = names_in(&request.raw, suffix);
    if !searched {
        let query =
            names.first().map_or_else(|| suffix.to_owned(), |name| format!("select:{name}"));
        return Some(call(search, json!({ "query": query, "max_results": 5 })));
    }
    let name = names.first()?;
    match with_wire("tool_call") {
        Some(bridge) => Some(call(bridge, json!({ "name": name, "arguments": arguments }))),
        None => Some(call(&ToolDefinition::plain(name), arguments.clone())),
    }
}

/// Returns whether a name is that of our tool: an agent may have its own with the same suffix (qwen has a `list_agents`).
fn is_ours(name: &str, suffix: &str) -> bool {
    name.contains(SERVER) && name.ends_with(suffix)
}

/// Returns the names of our tools in a text that end with `suffix`, in order.
pub(super) fn names_in(raw: &str, suffix: &str) -> Vec<String> {
    let raw = raw.replace("\\n", " ");
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let mut names = Vec::new();
    for (at, _) in raw.match_indices(suffix) {
        let end = at + suffix.len();
        if raw[end..].starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) {
            continue;
        }
        let before = &raw[..at];
        let start = before
            .rfind(|c| !is_part(c))
            .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        let prefix = &before[start..];
        if prefix.contains(SERVER) {
            names.push(format!("{prefix}{suffix}"));
        }
    }
    names
}
