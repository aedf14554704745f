//! Gemini CLI: its `settings.json`, in which comments are allowed.

use std::path::PathBuf;

use crate::setup::installed_plugin::{EXTENSION, PluginPlace};
use crate::setup::known_client::{Client, ClientFile, Places, Server, json_file_with_hooks};

pub(super) const CLIENT: Client = Client {
    name: "gemini",
    title: "Gemini CLI",
    programs: &["gemini"],
    directory: |places| Some(directory(places)),
    plugin: |places| Some(PluginPlace::Folder(directory(places).join(EXTENSION))),
    for_user: |places, server| vec![settings(directory(places).join("settings.json"), server)],
    for_project: |project, server| vec![settings(project.join(".gemini/settings.json"), server)],
};

fn directory(places: &Places) -> PathBuf {
    places.home_by("GEMINI_CLI_HOME").join(".gemini")
}

/// Its event after a tool is of no use: it also comes for the tools of subagents, and does not say so.
fn settings(path: PathBuf, server: &Server) -> ClientFile {
    json_file_with_hooks(path, "mcpServers", server, &["AfterAgent"])
}
