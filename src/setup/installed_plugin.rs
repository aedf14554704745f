//! Whether a client has the bridge as a plugin, according to its files. With an entry beside the plugin, each session would lead two
//! teams.

use std::path::PathBuf;

use serde_json::Value;

use super::config_file::ConfigFile;
use super::edits::config_edit::PROGRAM;
use super::edits::{edit_json, edit_toml};

/// The folder of the bridge as an extension, in the directory of Gemini CLI or Qwen Code.
pub(super) const EXTENSION: &str = "extensions/cli-team-bridge";

/// Where a client records its plugins.
#[derive(Clone, Debug)]
pub enum PluginPlace {
    /// A table of a JSON file, from `NAME@MARKETPLACE` to whether the plugin is enabled.
    JsonTable(PathBuf, &'static str),
    /// A table of a TOML file, from `NAME@MARKETPLACE` to a table, in which the plugin may be disabled.
    TomlTable(PathBuf, &'static str),
    /// The folder of an extension, which exists as long as the extension is installed.
    Folder(PathBuf),
}

impl PluginPlace {
    /// Says whether the bridge's plugin is there and not disabled. A file that cannot be read counts as one without it.
    pub(super) fn has_bridge(&self) -> bool {
        let text = |path: &PathBuf| ConfigFile::read(path, None).ok()?.text;
        let table =
            match self {
                Self::Folder(path) => return path.is_dir(),
                Self::JsonTable(path, key) => text(path)
                    .and_then(|text| edit_json::value_at(&text, &[(*key).to_owned()]).ok()?),
                Self::TomlTable(path, key) => text(path)
                    .and_then(|text| edit_toml::value_at(&text, &[(*key).to_owned()]).ok()?),
            };
        table.is_some_and(|table| names_bridge(&table))
    }
}

fn names_bridge(table: &Value) -> bool {
    let is_enabled = |plugin: &Value| match plugin {
        Value::Bool(is) => *is,
        Value::Object(fields) => fields.get("enabled") != Some(&Value::Bool(false)),
        _ => false,
    };
    let is_ours = |name: &str| name.split('@').next() == Some(PROGRAM);
    let mut plugins = table.as_object().into_iter().flatten();
    plugins.any(|(name, plugin)| is_ours(name) && is_enabled(plugin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_is_found_unless_it_is_disabled() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let json =
            |text| PluginPlace::JsonTable(file("a.json", text), "enabledPlugins").has_bridge();
        assert!(json(r#"{"enabledPlugins": {"x@y": true, "cli-team-bridge@here": true}}"#));
        assert!(!json(r#"{"enabledPlugins": {"cli-team-bridge@here": false}}"#));
        assert!(!json(r#"{"enabledPlugins": {"cli-team-bridge-2@here": true}}"#));
        assert!(!json(r#"{"enabledPlugins": ["cli-team-bridge@here"]}"#));
        assert!(!json("{"));
        let toml = |text| PluginPlace::TomlTable(file("a.toml", text), "plugins").has_bridge();
        assert!(toml("[plugins.\"cli-team-bridge@here\"]\nenabled = true\n"));
        assert!(!toml("[plugins.\"cli-team-bridge@here\"]\nenabled = false\n"));
        assert!(!toml("[marketplaces.cli-team-bridge]\nsource = 'x'\n"));
        assert!(PluginPlace::Folder(folder.path().to_owned()).has_bridge());
        assert!(!PluginPlace::Folder(folder.path().join("none")).has_bridge());
    }
}
