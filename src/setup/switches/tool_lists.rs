//! Switches in the entry itself: a field that turns the server off, and lists of its tools. Codex adds the fields of several files.

use serde_json::Value;

use super::entry_values::{JudgedFields, Least, of_values};
use super::find_switches::{Layer, setting_in, texts};
use crate::domain::limits::CLIENT_WORD_CHARS;
use crate::domain::text::visible_letters::beginning;
use crate::setup::config_file::ConfigFile;
use crate::setup::edits::edit_toml;
use crate::setup::known_client::{EntryInUse, EntryScope, Switch, SwitchEffect};

/// The fields of a client's entry that switch it off.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EntryFields {
    /// The field, and its value that turns the server off.
    pub(super) off: Option<(&'static str, bool)>,
    /// The list of the only tools that are shown.
    pub(super) only: Option<&'static str>,
    /// Whether that list counts even if it is empty.
    pub(super) is_empty_none: bool,
    /// The list of the tools that are hidden.
    pub(super) without: Option<&'static str>,
    /// Whether its items are taken as they are, and not without their arguments.
    pub(super) is_without_exact: bool,
}

/// Codex 0.166. Each field counts from the project's file, if the user trusts the project, else from the user's.
pub(in crate::setup) fn of_codex(used: &EntryInUse<'_>) -> Vec<Switch> {
    let fields = EntryFields {
        off: Some(("enabled", false)),
        only: Some("enabled_tools"),
        is_empty_none: true,
        without: Some("disabled_tools"),
        is_without_exact: false,
    };
    let mut layers = Vec::new();
    if used.scope != EntryScope::Project && codex_trusts_project(used) {
        layers.extend(used.beside_in_project());
    }
    layers.push(used.layer());
    if used.scope == EntryScope::Project {
        layers.extend(used.beside_of_user());
    }
    let mut switches = of_layers(used, &layers, fields);
    switches.extend(of_values(used, &layers, CODEX_VALUES));
    switches.extend(replaced_arguments(used, &layers));
    switches
}

/// The fields of Codex's entry that can keep it, or all of Codex, from starting.
const CODEX_VALUES: JudgedFields = JudgedFields {
    has_cwd: true,
    has_env_of_texts: true,
    limits: &[("startup_timeout_sec", Least::MoreThanZero), ("tool_timeout_sec", Least::Zero)],
    excluded: &["url", "bearer_token_env_var", "environment_id"],
};

/// Judges the arguments that a project's file has put in the place of the user's.
fn replaced_arguments(used: &EntryInUse<'_>, layers: &[Layer]) -> Option<Switch> {
    let layer = layers.iter().find(|layer| layer.entry.get("args").is_some())?;
    let arguments = &layer.entry["args"];
    if layer.file == used.file || *arguments == used.entry["args"] {
        return None;
    }
    let setting = setting_in(&format!("{}.args", layer.key), &layer.file);
    Some(Switch {
        effect: SwitchEffect::Partly,
        says: format!(
            "{} starts the bridge with other arguments than your own ({}), because of {setting}",
            used.client.title,
            beginning(&arguments.to_string(), CLIENT_WORD_CHARS)
        ),
        remedy: format!("if your own should count, remove {setting}"),
    })
}

/// Says whether Codex reads the project's file: the user's file names the project, or a directory of it, as trusted.
fn codex_trusts_project(used: &EntryInUse<'_>) -> bool {
    let Some(text) = ConfigFile::read(&used.file, None).ok().and_then(|config| config.text) else {
        return false;
    };
    let mut directories =
        used.project.into_iter().chain(used.directories.iter().map(AsRef::as_ref));
    directories.any(|directory| {
        let path = ["projects", &directory.to_string_lossy(), "trust_level"].map(str::to_owned);
        let level = edit_toml::value_at(&text, &path);
        level.is_ok_and(|level| level.is_some_and(|level| level == "trusted"))
    })
}

/// Droid 0.215.
pub(in crate::setup) fn of_droid(used: &EntryInUse<'_>) -> Vec<Switch> {
    let fields = EntryFields {
        off: Some(("disabled", true)),
        only: Some("enabledTools"),
        is_empty_none: false,
        without: Some("disabledTools"),
        is_without_exact: false,
    };
    of_entry(used, fields)
}

/// Zed, as its documentation says.
pub(in crate::setup) fn of_zed(used: &EntryInUse<'_>) -> Vec<Switch> {
    of_entry(used, EntryFields { off: Some(("enabled", false)), ..EntryFields::default() })
}

/// Judges the fields of the entry.
pub(super) fn of_entry(used: &EntryInUse<'_>, fields: EntryFields) -> Vec<Switch> {
    of_layers(used, &[used.layer()], fields)
}

/// Judges the fields of what several files have under the bridge's name. Each counts from the first that has it.
fn of_layers(used: &EntryInUse<'_>, layers: &[Layer], fields: EntryFields) -> Vec<Switch> {
    let first_with = |field: &str| layers.iter().find(|layer| layer.entry.get(field).is_some());
    let place = |layer: &Layer, end: &str| setting_in(&format!("{}.{end}", layer.key), &layer.file);
    if let Some((field, value)) = fields.off
        && let Some(layer) = first_with(field)
        && layer.entry[field] == value
    {
        let setting = place(layer, &format!("{field} = {value}"));
        let remedy = format!("if the bridge should run, remove {}", place(layer, field));
        return vec![used.off(&setting, remedy)];
    }
    let mut switches = Vec::new();
    for (field, is_only) in [(fields.only, true), (fields.without, false)] {
        let Some((field, layer)) = field.and_then(|field| Some((field, first_with(field)?))) else {
            continue;
        };
        let Value::Array(list) = &layer.entry[field] else { continue };
        if is_only && list.is_empty() && !fields.is_empty_none {
            continue;
        }
        let named = texts(&layer.entry[field]);
        let mut hidden = used.tools();
        let is_exact = fields.is_without_exact && !is_only;
        let is_named = |one: &str, tool: &str| {
            if is_exact { one == tool } else { names(one, tool) }
        };
        hidden.retain(|tool| named.iter().any(|one| is_named(one, tool)) != is_only);
        let setting = place(layer, field);
        let remedy = format!("if the model should have all tools, remove {setting}");
        switches.extend(used.hiding(&hidden, &setting, remedy));
    }
    switches
}

/// Says whether an item of a list names a tool: with arguments, or with its server before it, as well as alone.
fn names(item: &str, tool: &str) -> bool {
    let alone = item.split('(').next().unwrap_or(item);
    alone.strip_prefix("bridge___").unwrap_or(alone) == tool
}
