//! Claude Desktop: the user's one file. It has no project files.

use crate::setup::known_client::{Client, json_file};

pub(super) const CLIENT: Client = Client {
    name: "claude-desktop",
    title: "Claude Desktop",
    programs: &["claude-desktop"],
    directory: |places| Some(places.of_desktop().join("Claude")),
    plugin: |_| None,
    for_user: |places, server| {
        let file = places.of_desktop().join("Claude/claude_desktop_config.json");
        vec![json_file(file, "mcpServers", server.entry())]
    },
    for_project: |_, _| Vec::new(),
    folder_trust: None,
    local: None,
};
