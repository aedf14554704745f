//! Droid: its `mcp.json`. Its limit for a call cannot be set.

use std::path::PathBuf;

use serde_json::json;

use crate::setup::edits::entry_variables::VariableForms;
use crate::setup::edits::json_reader::JsonReader;
use crate::setup::known_client::{Client, ClientFile, Places, Server, json_file};
use crate::setup::switches;

pub(super) const CLIENT: Client = Client {
    name: "droid",
    title: "Droid",
    programs: &["droid"],
    directory: |places| Some(directory(places)),
    plugin: |_| None,
    for_user: |places, server| vec![servers(directory(places).join("mcp.json"), server)],
    for_project: |project, server| vec![servers(project.join(".factory/mcp.json"), server)],
    folder_trust: None,
    local: None,
    variables: VariableForms::None,
    switches: switches::of_droid,
    leaves_out: None,
};

/// What Droid 0.215 reads. It shows no error for anything else, and no servers.
const READER: JsonReader =
    JsonReader { title: CLIENT.title, comments: true, byte_order_mark: false };

fn servers(path: PathBuf, server: &Server) -> ClientFile {
    let entry = server.entry_with(&[("type", json!("stdio"))]);
    json_file(path, "mcpServers", entry).read_by(READER)
}

fn directory(places: &Places) -> PathBuf {
    places.home_by("FACTORY_HOME_OVERRIDE").join(".factory")
}
