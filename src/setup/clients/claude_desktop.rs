//! Claude Desktop: the user's one file. It has no project files.

use crate::setup::edits::entry_variables::VariableForms;
use crate::setup::edits::json_reader::JsonReader;
use crate::setup::known_client::{Client, json_file};

pub(super) const CLIENT: Client = Client {
    name: "claude-desktop",
    title: "Claude Desktop",
    programs: &["claude-desktop"],
    directory: |places| Some(places.of_desktop().join("Claude")),
    plugin: |_| None,
    for_user: |places, server| {
        let file = places.of_desktop().join("Claude/claude_desktop_config.json");
        vec![json_file(file, "mcpServers", server.entry()).read_by(READER)]
    },
    for_project: |_, _| Vec::new(),
    folder_trust: None,
    local: None,
    variables: VariableForms::Unseen,
    switches: |_| Vec::new(),
    leaves_out: None,
};

/// Its errors about this file are those of `JSON.parse`. Whether it takes comments or a mark out before is not known.
const READER: JsonReader =
    JsonReader { title: CLIENT.title, comments: true, byte_order_mark: true };
