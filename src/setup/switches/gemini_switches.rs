//! Switches of Gemini CLI and Qwen Code: lists of servers in their settings, the user's and a project's together.

use std::path::Path;

use serde_json::Value;

use super::entry_values::{JudgedFields, Least, of_values, replaced_in_project};
use super::find_switches::{hooks_off, quoted_word, setting_in, texts};
use super::gemini_policies::{Settings, by_policies, gemini_names};
use super::name_pattern::fits_with_marks;
use super::qwen_approvals::by_approval;
use super::tool_lists::{EntryFields, of_entry};
use crate::domain::limits::CLIENT_WORD_CHARS;
use crate::domain::text::shown_path::ShownPath as _;
use crate::domain::text::visible_letters::beginning;
use crate::setup::edits::config_edit::key_of;
use crate::setup::known_client::{EntryInUse, SERVER, Switch, SwitchEffect};

/// The lists of tools in an entry. Neither client has a field there that turns the server off.
const FIELDS: EntryFields = EntryFields {
    off: None,
    only: Some("includeTools"),
    is_empty_none: true,
    without: Some("excludeTools"),
    is_without_exact: true,
    is_only_exact: false,
};

/// The limit for a call, which is that for the start, too: with 0, or 2^31 or more, it is over at once. `qwen mcp list` does not use it.
const TIMEOUT: &[(&str, Least)] = &[("timeout", Least::Timer)];

/// The lists of tools. With another value, neither client finds a tool.
const LISTS: &[&str] = &["includeTools", "excludeTools"];

/// As Gemini CLI 0.61 decides it: names are exact, an empty list of allowed servers allows all, and a file of its
/// own has the servers that were disabled in it.
pub(in crate::setup) fn of_gemini_cli(used: &EntryInUse<'_>) -> Vec<Switch> {
    let directory = used.places.home_by("GEMINI_CLI_HOME").join(".gemini");
    let names = |pattern: &str| pattern == SERVER;
    let settings = read_settings(used, &directory, ".gemini");
    let mut switches = by_lists(used, &settings, names, OldLists::NotRead);
    let enablement = directory.join("mcp-server-enablement.json");
    let disabled = used.read(&enablement).is_some_and(|all| all[SERVER]["enabled"] == false);
    if disabled {
        let setting = setting_in(&format!("{SERVER}.enabled = false"), &enablement);
        let file = enablement.shown();
        // Its command `gemini mcp enable` of that version finds no server.
        let remedy = format!("if the bridge should run, remove `{SERVER}` from {file}");
        switches.push(used.off(&setting, remedy));
    }
    switches.extend(replaced_in_project(used));
    switches.extend(of_entry(used, FIELDS));
    let values = JudgedFields {
        has_cwd: true,
        has_env_of_texts: true,
        limits: TIMEOUT,
        lists: LISTS,
        ..JudgedFields::default()
    };
    switches.extend(of_values(used, &[used.layer()], values));
    switches.extend(by_excluded_tools(used, &settings, "exclude", gemini_excludes));
    switches.extend(by_core_tools(used, &settings));
    switches.extend(by_policies(used, &directory.join("policies"), &settings));
    switches.extend(by_hooks(&settings, &["hooksConfig", "enabled"], false));
    switches.extend(settings.iter().filter_map(|settings| ends_sessions(used, settings)));
    switches
}

/// Finds a value with which each session of Gemini CLI, or of Qwen Code by the user's settings, ends at its beginning. Only two of them are
/// known, and of a project's file they count only if the folder is trusted.
fn ends_sessions(used: &EntryInUse<'_>, (settings, file): &Settings) -> Option<Switch> {
    let mut servers = settings["mcpServers"].as_object().into_iter().flatten();
    let server = servers.find(|(_, server)| server.is_null()).map(|(name, _)| name);
    let (key, what) = if let Some(server) = server {
        (key_of(&["mcpServers".to_owned(), server.clone()]), "is `null`")
    } else if settings["context"]["fileName"].is_number() {
        ("context.fileName".to_owned(), "is a number")
    } else {
        return None;
    };
    let is_read = used.root.is_none_or(|root| !file.starts_with(root)) || used.is_folder_trusted();
    let key = beginning(&key, CLIENT_WORD_CHARS);
    let setting = setting_in(&key, file);
    let remedy = format!("if the bridge should run, correct or remove {setting}");
    is_read.then(|| {
        used.off(&format!("{setting}, which {what}: with it, each session ends at once"), remedy)
    })
}

/// As Qwen Code 0.24 decides it: names are patterns, and an empty list of allowed servers allows none.
pub(in crate::setup) fn of_qwen_code(used: &EntryInUse<'_>) -> Vec<Switch> {
    let directory = used.places.or_in_home("QWEN_HOME", ".qwen");
    let names = |pattern: &str| fits_with_marks(pattern, SERVER);
    let settings = read_settings(used, &directory, ".qwen");
    let mut switches = by_lists(used, &settings, names, OldLists::Moved);
    switches.extend(replaced_in_project(used));
    switches.extend(of_entry(used, FIELDS));
    // A number in `env` is taken for a text.
    let values =
        JudgedFields { has_cwd: true, limits: TIMEOUT, lists: LISTS, ..JudgedFields::default() };
    switches.extend(of_values(used, &[used.layer()], values));
    let names = |item: &str, tool: &str| item.trim() == format!("mcp__{SERVER}__{tool}");
    switches.extend(by_excluded_tools(used, &settings, "disabled", names));
    // What is off asks nobody, and of a folder that it does not trust it reads nothing that could be approved.
    let is_off = switches.iter().any(|one| one.effect == SwitchEffect::Off);
    if !is_off && used.is_folder_trusted() {
        switches.extend(by_approval(used, &directory));
    }
    switches.extend(by_hooks(&settings, &["disableAllHooks"], true));
    // It survives them in a project.
    let of_user = settings.first().filter(|(_, file)| file.starts_with(&directory));
    switches.extend(of_user.and_then(|settings| ends_sessions(used, settings)));
    switches
}

/// Reads the settings: the user's, then the project's, which override them.
fn read_settings(used: &EntryInUse<'_>, directory: &Path, in_project: &str) -> Vec<Settings> {
    let of_user = Some(directory.join("settings.json"));
    let of_project = used.project.map(|project| project.join(in_project).join("settings.json"));
    let files = of_user.into_iter().chain(of_project);
    files.filter_map(|file| Some((used.read(&file)?, file))).collect()
}

/// Says whether Gemini CLI hides a tool of the bridge because of an item. It is taken as it is, and a tool's own name is enough.
fn gemini_excludes(item: &str, tool: &str) -> bool {
    item == tool || (!item.contains('(') && gemini_names(item, tool))
}

/// Judges a list of hidden tools, which is there in addition to those in the entry.
fn by_excluded_tools(
    used: &EntryInUse<'_>,
    settings: &[Settings],
    list: &str,
    names: impl Fn(&str, &str) -> bool,
) -> Vec<Switch> {
    let of_file = |(settings, file): &Settings| {
        let hiding = texts(&settings["tools"][list]);
        let mut hidden = used.tools();
        hidden.retain(|tool| hiding.iter().any(|item| names(item, tool)));
        let setting = setting_in(&format!("tools.{list}"), file);
        let remedy = format!(
            "if the model should have all tools, remove those of the bridge from {setting}"
        );
        used.hiding(&hidden, &setting, remedy)
    };
    settings.iter().filter_map(of_file).collect()
}

/// Judges the list of the only tools of Gemini CLI, its own and those of servers, which the last file with it decides. What may run
/// without a question (`tools.allowed`) is shown, too.
fn by_core_tools(used: &EntryInUse<'_>, settings: &[Settings]) -> Option<Switch> {
    let (last, file) = settings.iter().rfind(|(one, _)| one["tools"]["core"].is_array())?;
    let allowed = settings.iter().flat_map(|(one, _)| texts(&one["tools"]["allowed"]));
    let shown: Vec<_> = texts(&last["tools"]["core"]).into_iter().chain(allowed).collect();
    let mut hidden = used.tools();
    hidden.retain(|tool| !shown.iter().any(|item| gemini_names(item, tool)));
    let setting = setting_in("tools.core", file);
    let remedy = format!("if the model should have all tools, add `mcp_{SERVER}_*` to {setting}");
    used.hiding(&hidden, &format!("{setting}, which does not name them"), remedy)
}

/// Judges the switch for all hooks, which the last file with it decides.
fn by_hooks(settings: &[Settings], path: &[&str], off: bool) -> Option<Switch> {
    let value = |settings: &Value| path.iter().fold(settings.clone(), |all, key| all[*key].clone());
    let (last, file) = settings.iter().rfind(|(settings, _)| value(settings).is_boolean())?;
    let key = path.join(".");
    let remedy = format!("remove {}", setting_in(&key, file));
    (value(last) == off).then(|| hooks_off(&setting_in(&format!("{key} = {off}"), file), &remedy))
}

/// Says whether settings of Qwen Code have the form with sections, so that it does not look for the first form.
pub(in crate::setup) fn is_new_form(settings: &Value) -> bool {
    settings["$version"].as_f64().is_some_and(|version| version >= 2.0)
}

/// What becomes of `excludeMCPServers` and `allowMCPServers`, the names that the lists had in the first form of the settings.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OldLists {
    NotRead,
    /// The first start moves them to the new names: Qwen Code, whose empty list of allowed servers allows none.
    Moved,
}

impl OldLists {
    /// Returns a list of servers, and its key.
    fn list<'a>(self, settings: &'a Value, new: &str, old: &str) -> (&'a Value, String) {
        if self == Self::Moved && !is_new_form(settings) && settings[old].is_array() {
            (&settings[old], old.to_owned())
        } else {
            (&settings["mcp"][new], format!("mcp.{new}"))
        }
    }

    fn excluded(self, settings: &Value) -> (&Value, String) {
        self.list(settings, "excluded", "excludeMCPServers")
    }

    fn allowed(self, settings: &Value) -> (&Value, String) {
        self.list(settings, "allowed", "allowMCPServers")
    }
}

/// Judges `mcp.excluded` and `mcp.allowed`.
fn by_lists(
    used: &EntryInUse<'_>,
    read: &[Settings],
    names: impl Fn(&str) -> bool,
    old: OldLists,
) -> Vec<Switch> {
    let mut switches = Vec::new();
    for (settings, file) in read {
        let (excluded, key) = old.excluded(settings);
        if let Some(first) = texts(excluded).into_iter().find(|pattern| names(pattern)) {
            let setting = setting_in(&key, file);
            let remedy =
                format!("if the bridge should run, remove {} from {setting}", quoted_word(first));
            switches.push(used.off(&setting, remedy));
        }
    }
    let lists = read.iter().map(|(settings, file)| (old.allowed(settings), file));
    let allowing: Vec<_> = lists.filter(|((list, _), _)| list.is_array()).collect();
    let mut allowed = allowing.iter().flat_map(|((list, _), _)| texts(list));
    let empty_allows_all = old == OldLists::NotRead;
    let is_allowed = allowed.clone().next().is_none() && empty_allows_all || allowed.any(names);
    if let Some(((_, key), file)) = allowing.first()
        && !is_allowed
    {
        let setting = setting_in(key, file);
        let remedy = format!("if the bridge should run, add `{SERVER}` to {setting}");
        switches.push(used.off(&format!("{setting}, which does not name it"), remedy));
    }
    switches
}
