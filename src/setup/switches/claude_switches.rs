//! Switches of Claude Code, as version 2.1.329 decides them: rules that deny its tools, lists of servers that are denied, allowed or
//! disabled, the approval of a project's `.mcp.json`, and the switch for all hooks.

mod limit_of_calls;
mod invalid_settings;

use std::path::PathBuf;

use serde_json::{Value, json};

use self::invalid_settings::invalid_setting;
use self::limit_of_calls::by_call_limit;
use super::entry_values::{JudgedFields, Least, number_in, of_values, wrong_value};
use super::find_switches::{hooks_off, quoted_word, setting_in, texts};
use super::name_pattern::fits;
use crate::domain::limits::NAMED_IN_CLIENT_FILE;
use crate::domain::text::counted::counted;
use crate::domain::text::shown_path::ShownPath as _;
use crate::setup::config_file::ConfigFile;
use crate::setup::edits::config_edit::{are_kinds_alone, key_of, named_fields, remote_fields_for};
use crate::setup::known_client::{EntryInUse, EntryScope, Reason, SERVER, Switch, SwitchEffect};

/// The fields of an entry that can keep it from being started. `cwd` is not used.
const FIELDS: JudgedFields = JudgedFields {
    has_cwd: false,
    has_env_of_texts: true,
    limits: &[("timeout", Least::WholeMoreThanZero)],
    lists: &[],
    excluded: &[],
};

/// A file of settings and its content.
struct Settings {
    file: PathBuf,
    value: Value,
    /// Whether the user cannot change it.
    is_managed: bool,
}

impl Settings {
    /// Names one of its settings.
    fn named(&self, key: &str) -> String {
        setting_in(key, &self.file)
    }

    /// Says who has to do something, and when.
    fn remedy(&self, doing: &str) -> String {
        let whose = if self.is_managed { "ask whoever manages this machine to " } else { "" };
        format!("if the bridge should run, {whose}{doing}")
    }
}

/// Finds what switches the bridge off.
pub(in crate::setup) fn of_claude_code(used: &EntryInUse<'_>) -> Vec<Switch> {
    let (settings, dropped): (Vec<_>, Vec<_>) =
        read_settings(used).into_iter().partition(|one| counts(used, one));
    let mut switches: Vec<_> = settings
        .iter()
        .flat_map(|one| [denied_tools(used, one), denied_server(used, one)])
        .flatten()
        .collect();
    switches.extend(dropped.iter().filter_map(|one| by_dropped_file(used, one)));
    switches.extend(not_allowed(used, &settings));
    switches.extend(by_managed_servers(used));
    switches.extend(plugins_only(used, &settings));
    switches.extend(disabled_in_projects(used));
    let null = null_variables(used).map(|Reason { setting, correction }| {
        used.off(&setting, format!("if the bridge should run, {correction}"))
    });
    switches.extend(null.or_else(|| of_values(used, &[used.layer()], FIELDS)));
    // What is off asks nobody.
    if used.scope == EntryScope::Project
        && !switches.iter().any(|one| one.effect == SwitchEffect::Off)
    {
        switches.extend(not_approved(used, &settings));
    }
    if !switches.iter().any(|one| one.effect == SwitchEffect::Off) {
        switches.extend(settings.iter().filter_map(|one| asked_tools(used, one)));
    }
    switches.extend(by_start_limit(used, &settings));
    switches.extend(by_call_limit(used, &settings));
    switches.extend(by_hooks(&settings));
    switches
}

/// Says why Claude Code takes an entry for none, and so uses the next one, if it has one.
pub(in crate::setup) fn left_out_by_claude_code(used: &EntryInUse<'_>) -> Option<Reason> {
    let kinds = remote_fields_for(used.client.name, &used.entry);
    if !kinds.is_empty() && are_kinds_alone(&kinds) {
        let setting = setting_in(&used.key, &used.file);
        let kinds = named_fields(&kinds);
        return Some(Reason {
            correction: format!("remove {kinds} from {setting}"),
            setting: format!("{kinds} of {setting}, with which it does not start the command"),
        });
    }
    let by_settings = || {
        let mut read = read_settings(used);
        read.retain(|one| counts(used, one));
        let found = rejected(&read).map(|(one, setting)| (one.is_managed, setting));
        let by_user = || Some((false, lists_of_projects(used, REJECTED).into_iter().next()?));
        let (is_managed, setting) = found.or_else(by_user)?;
        let whose = if is_managed { "ask whoever manages this machine to " } else { "" };
        let correction = format!("{whose}remove `{SERVER}` from {setting}");
        Some(Reason { setting, correction })
    };
    let by_settings = || by_settings().filter(|_| used.scope == EntryScope::Project);
    null_variables(used)
        .or_else(|| wrong_value(used, &[used.layer()], FIELDS))
        .or_else(|| wrong_arguments(used))
        .or_else(by_settings)
}

/// Says that an entry has `null` for its variables, with which it is none.
fn null_variables(used: &EntryInUse<'_>) -> Option<Reason> {
    used.entry.get("env").filter(|variables| variables.is_null())?;
    let setting = setting_in(&format!("{}.env", used.key), &used.file);
    let correction = format!("correct or remove {setting}");
    Some(Reason { setting: format!("{setting}, which is `null`"), correction })
}

/// Says that the arguments of an entry are no list of texts, with which it is none.
fn wrong_arguments(used: &EntryInUse<'_>) -> Option<Reason> {
    let arguments = used.entry.get("args")?;
    let is_list = arguments.as_array().is_some_and(|all| all.iter().all(Value::is_string));
    let setting = setting_in(&format!("{}.args", used.key), &used.file);
    let correction = format!("correct or remove {setting}");
    (!is_list)
        .then(|| Reason { setting: format!("{setting}, which is no list of texts"), correction })
}

/// Reads all files of settings, those that others override first.
fn read_settings(used: &EntryInUse<'_>) -> Vec<Settings> {
    let of_user = used.places.or_in_home("CLAUDE_CONFIG_DIR", ".claude").join("settings.json");
    let mut files = vec![(of_user, false)];
    if let Some(project) = used.project {
        let own = project.join(".claude");
        files.extend(["settings.json", "settings.local.json"].map(|name| (own.join(name), false)));
    }
    let managed = used.places.managed_claude();
    files.push((managed.join("managed-settings.json"), true));
    let parts = std::fs::read_dir(managed.join("managed-settings.d")).into_iter().flatten();
    let mut parts: Vec<_> = parts.flatten().map(|part| part.path()).collect();
    parts.retain(|part| part.extension().is_some_and(|kind| kind == "json"));
    parts.sort();
    files.extend(parts.into_iter().map(|part| (part, true)));
    let read = |(file, is_managed): (PathBuf, bool)| {
        Some(Settings { value: used.read(&file)?, file, is_managed })
    };
    files.into_iter().filter_map(read).collect()
}

/// Says whether Claude Code uses a file.
fn counts(used: &EntryInUse<'_>, settings: &Settings) -> bool {
    invalid_setting(settings).is_none() && !used.places.is_unused(&settings.file)
}

/// Says that Claude Code uses nothing of a file.
fn by_dropped_file(used: &EntryInUse<'_>, settings: &Settings) -> Option<Switch> {
    let key = invalid_setting(settings)?;
    let title = used.client.title;
    Some(Switch {
        unused_file: Some(settings.file.clone()),
        effect: SwitchEffect::Partly,
        says: format!(
            "{title} uses nothing of {}, because of the value of `{key}` there: permissions and hooks there do not count",
            settings.file.shown()
        ),
        remedy: format!("correct {}, or remove it", settings.named(&key)),
    })
}

/// Rules about tools, of those in one list that fit tools of the bridge.
struct ToolRules {
    /// The tools that they fit.
    tools: Vec<&'static str>,
    /// The rules, and their list.
    named: String,
    setting: String,
}

/// Finds the rules of a list of permissions that fit tools of the bridge.
fn tool_rules(used: &EntryInUse<'_>, settings: &Settings, list: &str) -> ToolRules {
    let rules = texts(&settings.value["permissions"][list]);
    let server = format!("mcp__{SERVER}");
    let fits_tool =
        |rule: &str, tool: &str| rule == server || fits(rule, &format!("{server}__{tool}"));
    let mut tools = used.tools();
    let ours = |rule: &&str| tools.iter().any(|tool| fits_tool(rule, tool));
    let rules: Vec<_> = rules.into_iter().filter(ours).collect();
    tools.retain(|tool| rules.iter().any(|rule| fits_tool(rule, tool)));
    let first = rules.iter().take(NAMED_IN_CLIENT_FILE);
    let named = first.map(|rule| quoted_word(rule)).collect::<Vec<_>>().join(", ");
    let more = match rules.len().saturating_sub(NAMED_IN_CLIENT_FILE) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let setting = settings.named(&format!("permissions.{list}"));
    ToolRules { tools, named: named + &more, setting }
}

/// Judges the rules that deny tools. A denied tool is not shown to the model.
fn denied_tools(used: &EntryInUse<'_>, settings: &Settings) -> Option<Switch> {
    let ToolRules { tools, named, setting } = tool_rules(used, settings, "deny");
    let remedy = settings.remedy(&format!("remove {named} from {setting}"));
    used.hiding(&tools, &format!("{named} among {setting}"), remedy)
}

/// Judges the rules with which Claude Code asks before each call, whatever is allowed. Where it cannot ask, the call is refused.
fn asked_tools(used: &EntryInUse<'_>, settings: &Settings) -> Option<Switch> {
    let ToolRules { tools, named, setting } = tool_rules(used, settings, "ask");
    if tools.is_empty() {
        return None;
    }
    let of_tools = if tools.len() == used.tools().len() {
        "the bridge's tools".to_owned()
    } else {
        counted(tools.len(), "tool") + " of the bridge"
    };
    let title = used.client.title;
    let says = format!(
        "{title} asks you before each call of {of_tools}, whatever is allowed, because of {named} among {setting}"
    );
    let whose = if settings.is_managed { "ask whoever manages this machine to " } else { "" };
    let remedy = format!("if it should not ask, {whose}remove {named} from {setting}");
    Some(Switch { effect: SwitchEffect::Partly, says, remedy, unused_file: None })
}

/// Returns the command line of the entry, as lists of servers name it.
fn command_line(used: &EntryInUse<'_>) -> Value {
    let arguments = used.entry["args"].as_array().cloned().unwrap_or_default();
    Value::Array([vec![used.entry["command"].clone()], arguments].concat())
}

fn denied_server(used: &EntryInUse<'_>, settings: &Settings) -> Option<Switch> {
    let denied = settings.value["deniedMcpServers"].as_array()?;
    let command = command_line(used);
    let is_ours = |one: &&Value| one["serverName"] == SERVER || one["serverCommand"] == command;
    let ours = quoted_word(&denied.iter().find(is_ours)?.to_string());
    let setting = settings.named("deniedMcpServers");
    Some(used.off(&setting, settings.remedy(&format!("remove {ours} from {setting}"))))
}

/// Returns the first file of the machine's own settings in which a key is `true`.
fn managed_with<'a>(settings: &'a [Settings], key: &str) -> Option<&'a Settings> {
    settings.iter().find(|one| one.is_managed && one.value[key] == true)
}

/// Judges the machine's own rule that servers come from plugins alone.
fn plugins_only(used: &EntryInUse<'_>, settings: &[Settings]) -> Option<Switch> {
    let one = settings.iter().find(|one| has_strict(one, "mcp"))?;
    let setting = one.named(STRICT);
    let remedy =
        one.remedy(&format!("take servers out of {setting}, or install the bridge's plugin"));
    Some(used.off(&format!("{setting}, which allows servers of plugins alone"), remedy))
}

/// The setting that allows what plugins bring alone: `true` for all, or a list.
const STRICT: &str = "strictPluginOnlyCustomization";

fn has_strict(one: &Settings, part: &str) -> bool {
    let value = &one.value[STRICT];
    one.is_managed && (*value == true || texts(value).contains(&part))
}

/// Judges the lists of allowed servers, which count together, or the machine's own alone if these say so. If one has a command, servers
/// that are commands are allowed by it alone.
fn not_allowed(used: &EntryInUse<'_>, settings: &[Settings]) -> Option<Switch> {
    let key = "allowedMcpServers";
    let is_managed_only = managed_with(settings, "allowManagedMcpServersOnly").is_some();
    let counts = |one: &&Settings| one.is_managed || !is_managed_only;
    let lists: Vec<_> =
        settings.iter().filter(counts).filter(|one| one.value[key].is_array()).collect();
    let allowed = lists.iter().flat_map(|one| one.value[key].as_array().into_iter().flatten());
    let command = command_line(used);
    let by_command = allowed.clone().any(|one| one.get("serverCommand").is_some());
    let ours = if by_command {
        json!({ "serverCommand": command })
    } else {
        json!({ "serverName": SERVER })
    };
    let field = if by_command { "serverCommand" } else { "serverName" };
    if allowed.clone().any(|one| one.get(field) == ours.get(field)) {
        return None;
    }
    let first = lists.first()?;
    let setting = first.named(key);
    let remedy = first.remedy(&format!("add {} to {setting}", quoted_word(&ours.to_string())));
    let what = if by_command { "its command" } else { "it" };
    Some(used.off(&format!("{setting}, which does not name {what}"), remedy))
}

/// A file of the machine's own servers excludes all others.
fn by_managed_servers(used: &EntryInUse<'_>) -> Option<Switch> {
    let file = used.places.managed_claude().join("managed-mcp.json");
    let servers = used.read(&file)?;
    let has_ours = servers["mcpServers"].get(SERVER).is_some();
    (!has_ours).then(|| {
        let file = file.shown();
        let remedy = format!(
            "if the bridge should run, ask whoever manages this machine to add it to {file}"
        );
        used.off(&format!("{file}, which excludes all servers that it does not name"), remedy)
    })
}

/// Judges the servers that the user has disabled for one project, as `/mcp` does.
fn disabled_in_projects(used: &EntryInUse<'_>) -> Vec<Switch> {
    let of_project = (used.scope == EntryScope::Project).then_some(REJECTED);
    let settings = ["disabledMcpServers"].into_iter().chain(of_project);
    let settings = settings.flat_map(|list| lists_of_projects(used, list));
    let off = |setting: String| {
        let remedy = format!("if the bridge should run, remove `{SERVER}` from {setting}");
        used.off(&setting, remedy)
    };
    settings.map(off).collect()
}

/// Returns the lists under a key of projects in the user's own file that name the bridge.
fn lists_of_projects(used: &EntryInUse<'_>, list: &str) -> Vec<String> {
    let mut settings = Vec::new();
    let directories = used.directories.iter();
    let tables = directories.filter_map(|one| used.client.local?.table_of(used.places, one));
    for (file, path) in tables {
        let all = used.read(&file).unwrap_or_default();
        let project = path.iter().fold(&all, |value, key| &value[key]);
        let setting = setting_in(&key_of(&[&path[..], &[list.to_owned()]].concat()), &file);
        // Several directories may be of one project.
        let names = if list == REJECTED { names_in(&project[list]) } else { texts(&project[list]) };
        if names.contains(&SERVER) && !settings.contains(&setting) {
            settings.push(setting);
        }
    }
    settings
}

/// The key of the lists that reject entries in a project's `.mcp.json`.
const REJECTED: &str = "disabledMcpjsonServers";

/// Returns the servers that a list about `.mcp.json` names. A text alone is a list of that one.
fn names_in(list: &Value) -> Vec<&str> {
    list.as_str().map_or_else(|| texts(list), |one| vec![one])
}

/// Returns the settings that reject an entry in a project's `.mcp.json`, and names that one.
fn rejected(settings: &[Settings]) -> Option<(&Settings, String)> {
    let one = settings.iter().find(|one| names_in(&one.value[REJECTED]).contains(&SERVER))?;
    Some((one, one.named(REJECTED)))
}

/// Judges the approval of an entry in a project's `.mcp.json`.
fn not_approved(used: &EntryInUse<'_>, settings: &[Settings]) -> Option<Switch> {
    if let Some((one, setting)) = rejected(settings) {
        return Some(used.off(&setting, one.remedy(&format!("remove `{SERVER}` from {setting}"))));
    }
    let approves = |one: &Settings| {
        let all = &one.value["enableAllProjectMcpServers"];
        *all == true
            || *all == "true"
            || names_in(&one.value["enabledMcpjsonServers"]).contains(&SERVER)
    };
    let is_approved = settings.iter().any(approves);
    // Setup changes nothing of a client if it may not change the file of the entry.
    let opening = || {
        let error = ConfigFile::read(&used.file, used.root).err()?;
        let opening = error.remedy_of_change(&used.file.shown().to_string());
        Some(format!("{opening}, then "))
    };
    (!is_approved).then(|| Switch {
        unused_file: None,
        effect: SwitchEffect::Partly,
        says: format!(
            "{} asks you before it starts the bridge from {}, which nobody has approved for good",
            used.client.title,
            used.file.shown()
        ),
        remedy: format!(
            "approve it when it asks, or {}run `cli-team-bridge setup --client {} --project .`",
            opening().unwrap_or_default(),
            used.client.name
        ),
    })
}

/// The limit for the start of a server, in milliseconds, below which a busy machine may not start the bridge in time.
const LEAST_START: f64 = 5_000.0;

/// Judges the limit for the start of all servers. What is no number, or 0, is none.
fn by_start_limit(used: &EntryInUse<'_>, settings: &[Settings]) -> Option<Switch> {
    let limit = |one: &Settings| number_in(&one.value["env"]["MCP_TIMEOUT"]);
    let last = settings.iter().rfind(|one| limit(one).is_some())?;
    let milliseconds = limit(last).filter(|limit| *limit != 0.0 && *limit < LEAST_START)?;
    let setting = last.named("env.MCP_TIMEOUT");
    Some(Switch {
        unused_file: None,
        effect: SwitchEffect::Partly,
        says: format!(
            "{} gives the bridge only {milliseconds} ms to start, because of {setting}",
            used.client.title
        ),
        remedy: last.remedy(&format!("remove {setting}, or set it to its default, 30000")),
    })
}

/// Judges the switches for all hooks: the machine's own, and the one that the last file with it decides.
fn by_hooks(settings: &[Settings]) -> Option<Switch> {
    let only_managed = managed_with(settings, "allowManagedHooksOnly");
    let only_managed = only_managed.map(|one| one.named("allowManagedHooksOnly = true"));
    let strict = || Some(settings.iter().find(|one| has_strict(one, "hooks"))?.named(STRICT));
    if let Some(setting) = only_managed.or_else(strict) {
        return Some(hooks_off(&setting, "ask whoever manages this machine"));
    }
    let key = "disableAllHooks";
    let last = settings.iter().rfind(|one| one.value[key].is_boolean())?;
    let setting = last.named(&format!("{key} = true"));
    (last.value[key] == true).then(|| hooks_off(&setting, &format!("remove {}", last.named(key))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::clients::named;
    use crate::setup::known_client::Places;

    /// Returns the effects of the machine's own settings beside the user's, which allow the bridge.
    fn effects(managed: Value) -> Vec<SwitchEffect> {
        let settings = |value: Value, is_managed| Settings {
            file: "/settings.json".into(),
            value,
            is_managed,
        };
        let own = json!({ "allowedMcpServers": [{ "serverName": SERVER }], STRICT: true });
        let settings = [settings(own, false), settings(managed, true)];
        let home = |name: &str| (name == "HOME").then(|| "/none".into());
        let used = EntryInUse {
            client: named("claude-code").unwrap(),
            places: &Places::read(home, false).unwrap(),
            project: None,
            root: None,
            directories: &[],
            entry: json!({ "command": "cli-team-bridge", "args": ["orchestrator"] }),
            key: String::new(),
            file: PathBuf::new(),
            scope: EntryScope::User,
        };
        let not_allowed = not_allowed(&used, &settings);
        let found = [not_allowed, plugins_only(&used, &settings), by_hooks(&settings)];
        found.into_iter().flatten().map(|switch| switch.effect).collect()
    }

    #[test]
    fn the_machines_own_settings_can_leave_the_users_out() {
        use SwitchEffect::{Off, Partly};
        let others = json!([{ "serverName": "x" }]);
        let only = json!({ "allowManagedMcpServersOnly": true, "allowedMcpServers": others });
        for (managed, expected) in [
            (json!({}), vec![]),
            (json!({ "allowedMcpServers": others }), vec![]),
            (only, vec![Off]),
            (json!({ "allowManagedMcpServersOnly": true }), vec![]),
            (json!({ STRICT: true }), vec![Off, Partly]),
            (json!({ STRICT: ["mcp"] }), vec![Off]),
            (json!({ STRICT: ["skills", "hooks"] }), vec![Partly]),
            (json!({ "allowManagedHooksOnly": true }), vec![Partly]),
        ] {
            assert_eq!(effects(managed.clone()), expected, "{managed}");
        }
    }
}
