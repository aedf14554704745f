//! Droid: its `mcp.json`. Its limit for a call cannot be set.

use std::path::PathBuf;

use serde_json::json;

use crate::setup::known_client::{Client, Places, json_file};

pub(super) const CLIENT: Client = Client {
    name: "droid",
    title: "Droid",
    programs: &["droid"],
    directory: |places| Some(directory(places)),
    plugin: |_| None,
    for_user: |places, server| {
        let entry = server.entry_with(&[("type", json!("stdio"))]);
        vec![json_file(directory(places).join("mcp.json"), "mcpServers", entry)]
    },
    for_project: |project, server| {
        let entry = server.entry_with(&[("type", json!("stdio"))]);
        vec![json_file(project.join(".factory/mcp.json"), "mcpServers", entry)]
    },
    folder_trust: None,
    local: None,
};

fn directory(places: &Places) -> PathBuf {
    places.home_by("FACTORY_HOME_OVERRIDE").join(".factory")
}
