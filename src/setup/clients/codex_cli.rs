//! Codex: a table in its `config.toml`. It reads a project's file only if the user trusts the project.

use std::path::PathBuf;

use serde_json::json;

use crate::setup::edits::config_edit::{Entry, FileEdits};
use crate::setup::edits::entry_variables::VariableForms;
use crate::setup::installed_plugin::PluginPlace;
use crate::setup::known_client::{CALL_SECONDS, Client, ClientFile, SERVER, Server};
use crate::setup::switches;

pub(super) const CLIENT: Client = Client {
    name: "codex",
    title: "Codex",
    programs: &["codex"],
    directory: |places| Some(places.or_in_home("CODEX_HOME", ".codex")),
    plugin: |places| {
        let config = places.or_in_home("CODEX_HOME", ".codex").join("config.toml");
        Some(PluginPlace::TomlTable(config, "plugins"))
    },
    for_user: |places, server| {
        vec![servers(places.or_in_home("CODEX_HOME", ".codex").join("config.toml"), server)]
    },
    for_project: |project, server| vec![servers(project.join(".codex/config.toml"), server)],
    folder_trust: None,
    local: None,
    variables: VariableForms::None,
    switches: switches::of_codex,
    leaves_out: None,
};

fn servers(path: PathBuf, server: &Server) -> ClientFile {
    let value = server.entry_with(&[("tool_timeout_sec", json!(CALL_SECONDS))]);
    let entry = Entry { path: ["mcp_servers", SERVER].map(str::to_owned).to_vec(), value };
    let edits = FileEdits::Toml(vec![entry]);
    ClientFile { path, purpose: "the MCP server", edits, reader: None }
}
