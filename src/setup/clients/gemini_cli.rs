//! Gemini CLI: its `settings.json`, in which comments are allowed.

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
    name: "gemini",
    title: "Gemini CLI",
    programs: &["gemini"],
    directory: |places| Some(directory(places)),
    plugin: |places| Some(PluginPlace::Folder(directory(places).join(EXTENSION))),
    for_user: |places, server| vec![settings(directory(places).join("settings.json"), server)],
    for_project: |project, server| {
        vec![in_project(settings(project.join(".gemini/settings.json"), server))]
    },
    folder_trust: Some(|places, folder| {
        if let Some(trust) = &places.gemini_trust {
            return trust.clone();
        }
        let rules = places.moved_to("GEMINI_CLI_TRUSTED_FOLDERS_PATH");
        let files = TrustFiles {
            settings: directory(places).join("settings.json"),
            in_folder: None,
            rules: rules.unwrap_or_else(|| directory(places).join("trustedFolders.json")),
            reading: TrustReading::Gemini,
        };
        files.trust(folder)
    }),
    local: None,
    variables: VariableForms::Environment { bare: true, defaults: true },
    switches: switches::of_gemini_cli,
    leaves_out: None,
};

/// What Gemini CLI 0.61 reads.
const READER: JsonReader =
    JsonReader { title: CLIENT.title, comments: true, byte_order_mark: false };

fn directory(places: &Places) -> PathBuf {
    places.home_by("GEMINI_CLI_HOME").join(".gemini")
}

/// Its event after a tool is of no use: it also comes for the tools of subagents, and does not say so.
fn settings(path: PathBuf, server: &Server) -> ClientFile {
    json_file_with_hooks(path, "mcpServers", server, &["AfterAgent"]).read_by(READER)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use super::*;
    use crate::setup::known_client::FolderTrust;

    #[test]
    fn variables_trust_or_refuse_every_folder() {
        let home = tempfile::tempdir().unwrap();
        let trust = |set: &[(&str, &str)]| {
            let variable = |name: &str| match name {
                "HOME" => Some(home.path().into()),
                _ => {
                    set.iter().find(|(one, _)| *one == name).map(|(_, value)| OsString::from(value))
                }
            };
            let places = Places::read(variable, false).unwrap();
            CLIENT.folder_trust.unwrap()(&places, Path::new("/p"))
        };
        let (trusts, restricts) = ("GEMINI_CLI_TRUST_WORKSPACE", "GEMINI_RESTRICTED_MODE");
        assert_eq!(trust(&[(trusts, "true")]), FolderTrust::Trusted);
        let refused = FolderTrust::RefusedBy("GEMINI_CLI_TRUST_WORKSPACE=false");
        assert_eq!(trust(&[(trusts, "false")]), refused);
        let refused = FolderTrust::RefusedBy("GEMINI_RESTRICTED_MODE=true");
        assert_eq!(trust(&[(trusts, "true"), (restricts, "true")]), refused);
        for undecided in [&[][..], &[(trusts, "1")], &[(restricts, "1")]] {
            assert_eq!(trust(undecided), FolderTrust::Undecided);
        }
    }
}
