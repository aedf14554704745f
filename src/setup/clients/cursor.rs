//! Cursor: its `mcp.json`, the user's or a project's.

use crate::setup::edits::entry_variables::VariableForms;
use crate::setup::known_client::{Client, json_file};

pub(super) const CLIENT: Client = Client {
    name: "cursor",
    title: "Cursor",
    programs: &["cursor", "cursor-agent"],
    directory: |places| Some(places.home.join(".cursor")),
    plugin: |_| None,
    for_user: |places, server| {
        vec![json_file(places.home.join(".cursor/mcp.json"), "mcpServers", server.entry())]
    },
    for_project: |project, server| {
        vec![json_file(project.join(".cursor/mcp.json"), "mcpServers", server.entry())]
    },
    folder_trust: None,
    local: None,
    variables: VariableForms::Editor,
    switches: |_| Vec::new(),
    leaves_out: None,
};
