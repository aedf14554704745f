//! Qwen Code: its `settings.json`, in which comments are allowed.

use std::path::PathBuf;

use super::folder_trust::{TrustFiles, TrustReading};
use crate::setup::edits::entry_variables::VariableForms;
use crate::setup::edits::json_reader::JsonReader;
use crate::setup::installed_plugin::{EXTENSION, PluginPlace};
use crate::setup::known_client::{
    Client, ClientFile, Places, Server, in_project, json_file_with_hooks,
};
use crate::setup::switches;

pub(super) const CLIENT: Client = Client {
    name: "qwen",
    title: "Qwen Code",
    programs: &["qwen"],
    directory: |places| Some(directory(places)),
    plugin: |places| Some(PluginPlace::Folder(directory(places).join(EXTENSION))),
    for_user: |places, server| vec![settings(directory(places).join("settings.json"), server)],
    for_project: |project, server| {
        vec![in_project(settings(project.join(".qwen/settings.json"), server))]
    },
    folder_trust: Some(|places, folder| {
        let rules = places.moved_to("QWEN_CODE_TRUSTED_FOLDERS_PATH");
        let files = TrustFiles {
            settings: directory(places).join("settings.json"),
            in_folder: Some(folder.join(".qwen/settings.json")),
            rules: rules.unwrap_or_else(|| directory(places).join("trustedFolders.json")),
            reading: TrustReading::Qwen,
        };
        files.trust(folder)
    }),
    local: None,
    variables: VariableForms::Environment { bare: true, defaults: false },
    switches: switches::of_qwen_code,
    leaves_out: None,
};

/// What Qwen Code 0.24 reads.
const READER: JsonReader =
    JsonReader { title: CLIENT.title, comments: true, byte_order_mark: true };

fn directory(places: &Places) -> PathBuf {
    places.or_in_home("QWEN_HOME", ".qwen")
}

/// It reads a hook's limit of 1,000 or more as milliseconds. Its older versions read every limit so.
fn settings(path: PathBuf, server: &Server) -> ClientFile {
    json_file_with_hooks(path, "mcpServers", server, &["PostToolBatch", "Stop"]).read_by(READER)
}
