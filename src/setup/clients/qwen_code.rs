//! Qwen Code: its `settings.json`, in which comments are allowed.

use crate::setup::installed_plugin::{EXTENSION, PluginPlace};
use crate::setup::known_client::{Client, json_file, timeout_ms};

pub(super) const CLIENT: Client = Client {
    name: "qwen",
    title: "Qwen Code",
    programs: &["qwen"],
    directory: |places| Some(places.or_in_home("QWEN_HOME", ".qwen")),
    plugin: |places| {
        let directory = places.or_in_home("QWEN_HOME", ".qwen");
        Some(PluginPlace::Folder(directory.join(EXTENSION)))
    },
    for_user: |places, server| {
        let file = places.or_in_home("QWEN_HOME", ".qwen").join("settings.json");
        vec![json_file(file, "mcpServers", server.entry_with(&[timeout_ms()]))]
    },
    for_project: |project, server| {
        let entry = server.entry_with(&[timeout_ms()]);
        vec![json_file(project.join(".qwen/settings.json"), "mcpServers", entry)]
    },
    folder_trust: None,
    local: None,
};
