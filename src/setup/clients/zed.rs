//! Zed: `context_servers` in its settings, in which comments are allowed. Its limit for a call is in seconds.

use std::path::PathBuf;

use serde_json::json;

use crate::setup::edits::entry_variables::VariableForms;
use crate::setup::known_client::{CALL_SECONDS, Client, ClientFile, Places, Server, json_file};
use crate::setup::switches;

pub(super) const CLIENT: Client = Client {
    name: "zed",
    title: "Zed",
    programs: &["zed", "zeditor"],
    directory: |places| Some(directory(places)),
    plugin: |_| None,
    for_user: |places, server| vec![settings(directory(places).join("settings.json"), server)],
    for_project: |project, server| vec![settings(project.join(".zed/settings.json"), server)],
    folder_trust: None,
    local: None,
    variables: VariableForms::Unseen,
    switches: switches::of_zed,
    leaves_out: None,
};

/// Unlike other desktop programs, Zed uses the same directory on a Mac.
fn directory(places: &Places) -> PathBuf {
    places.or_in_home("XDG_CONFIG_HOME", ".config").join("zed")
}

fn settings(path: PathBuf, server: &Server) -> ClientFile {
    let entry = server.entry_with(&[("env", json!({})), ("timeout", json!(CALL_SECONDS))]);
    json_file(path, "context_servers", entry)
}
