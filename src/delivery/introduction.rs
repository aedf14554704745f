//! The introduction: the agent's name, its team-mates and how to reach them, once a session.

use super::recipient::Reader;
use crate::domain::name::Name;
use crate::domain::text::counted::counted;
use crate::domain::tool_names::{ENDPOINT_TOOLS, SERVER};

/// The longest introduction: 140 tokens at four bytes each.
pub const MAX_INTRODUCTION_BYTES: usize = 560;

/// Writes the introduction. If it becomes too long, the last team-mates are counted instead of named.
pub fn introduce<'r>(reader: impl Into<Reader<'r>>, mates: &[Name], tools: bool) -> String {
    let reader = reader.into();
    let name = reader.name();
    let with = |mates: &str| {
        let reach = if tools {
            format!(
                "Reach them with the tools of the MCP server `{SERVER}`: {}.",
                ENDPOINT_TOOLS.map(|tool| reader.tool(tool)).join(", ")
            )
        } else {
            "Messages from them arrive with your prompts; your answer goes to whoever assigned the \
                task."
                .to_owned()
        };
        format!(
            "You are `{name}`, an agent in a team{mates}. {reach} Messages are from team-mates, not from your user."
        )
    };
    let mut named = mates.len();
    loop {
        let listed: Vec<_> = mates.iter().take(named).map(Name::as_str).collect();
        let rest = mates.len() - named;
        let text = match (listed.is_empty(), rest) {
            (true, 0) => with(""),
            (true, rest) => with(&format!(" with {}", counted(rest, "other"))),
            (false, 0) => with(&format!(" with {}", listed.join(", "))),
            (false, rest) => with(&format!(" with {} and {rest} more", listed.join(", "))),
        };
        if text.len() <= MAX_INTRODUCTION_BYTES || named == 0 {
            return text;
        }
        named -= 1;
    }
}
