//! Visual Studio Code: the `mcp.json` of the user's default profile, with `servers` at the top level.

use serde_json::json;

use crate::setup::edits::entry_variables::VariableForms;
use crate::setup::known_client::{Client, json_file};

pub(super) const CLIENT: Client = Client {
    name: "vscode",
    title: "VS Code",
    programs: &["code"],
    directory: |places| Some(places.of_desktop().join("Code")),
    plugin: |_| None,
    for_user: |places, server| {
        let entry = server.entry_with(&[("type", json!("stdio"))]);
        vec![json_file(places.of_desktop().join("Code/User/mcp.json"), "servers", entry)]
    },
    for_project: |project, server| {
        let entry = server.entry_with(&[("type", json!("stdio"))]);
        vec![json_file(project.join(".vscode/mcp.json"), "servers", entry)]
    },
    folder_trust: None,
    local: None,
    variables: VariableForms::Editor,
    switches: |_| Vec::new(),
    leaves_out: None,
};
