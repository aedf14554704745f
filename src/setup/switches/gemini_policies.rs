//! Rules of Gemini CLI that hide tools: the files in the user's own `policies` directory.
//!
//! As Gemini CLI 0.61 decides it: of the rules that fit a tool, whatever its arguments are, the one with the highest priority counts, and
//! one that denies the tool hides it. Settings are rules, too, below the first hundred of a file's.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::find_switches::{setting_in, texts};
use crate::setup::config_file::ConfigFile;
use crate::setup::edits::edit_toml;
use crate::setup::known_client::{EntryInUse, SERVER, Switch};

/// A file of settings, and its content before it.
pub(super) type Settings = (Value, PathBuf);

/// The most files that are read: a directory has a few.
const MOST_FILES: usize = 32;

/// The priorities of what settings allow, on the scale of the rules.
const ALLOWED_TOOLS: u64 = 300;
const CORE_TOOLS: u64 = 250;
const TRUSTED_SERVER: u64 = 200;
const ALLOWED_SERVER: u64 = 100;

/// The highest priority of a rule in a file.
const MOST: u64 = 999;

/// A rule that does not depend on a call's arguments, or allows some of them.
struct Rule {
    priority: u64,
    denies: bool,
    /// The names of its tools, as a list of tools has them.
    tools: Vec<String>,
    file: PathBuf,
}

/// Says whether Gemini CLI means a tool of the bridge by an item of a list. Of patterns it knows these alone.
pub(super) fn gemini_names(item: &str, tool: &str) -> bool {
    let item = item.split('(').next().unwrap_or(item);
    let all_of_ours = format!("mcp_{SERVER}_*");
    ["*", "mcp_*", &all_of_ours].contains(&item) || item == format!("mcp_{SERVER}_{tool}")
}

/// Judges the files in a directory.
pub(super) fn by_policies(
    used: &EntryInUse<'_>,
    directory: &Path,
    settings: &[Settings],
) -> Vec<Switch> {
    // Other places take that of the directory.
    let is_elsewhere =
        |(one, _): &Settings| one["policyPaths"].as_array().is_some_and(|it| !it.is_empty());
    if settings.iter().any(is_elsewhere) {
        return Vec::new();
    }
    let files = files_in(directory);
    let mut rules: Vec<_> = files.iter().filter_map(|file| rules_in(file)).flatten().collect();
    rules.sort_by_key(|rule| std::cmp::Reverse(rule.priority));
    let is_hidden_by = |tool: &str, file: &Path| {
        let first = rules.iter().find(|rule| rule.tools.iter().any(|one| gemini_names(one, tool)));
        first.is_some_and(|rule| {
            rule.denies && rule.file == file && rule.priority >= allowed_at(used, settings, tool)
        })
    };
    let of_file = |file: &PathBuf| {
        let mut hidden = used.tools();
        hidden.retain(|tool| is_hidden_by(tool, file));
        let setting = setting_in("rule", file);
        let remedy = format!(
            "if the model should have all tools, remove the rules that deny those of the bridge from {setting}"
        );
        used.hiding(&hidden, &setting, remedy)
    };
    files.iter().filter_map(of_file).collect()
}

/// Returns the priority at which settings allow a tool; 0 if they do not.
fn allowed_at(used: &EntryInUse<'_>, settings: &[Settings], tool: &str) -> u64 {
    let is_listed = |list: &str| {
        let named = settings.iter().flat_map(|(one, _)| texts(&one["tools"][list]));
        named.into_iter().any(|item| gemini_names(item, tool))
    };
    let is_allowed_server = || {
        let named = settings.iter().flat_map(|(one, _)| texts(&one["mcp"]["allowed"]));
        named.into_iter().any(|server| [SERVER, "*"].contains(&server))
    };
    if is_listed("allowed") {
        ALLOWED_TOOLS
    } else if is_listed("core") {
        CORE_TOOLS
    } else if used.entry["trust"] == true {
        TRUSTED_SERVER
    } else if is_allowed_server() {
        ALLOWED_SERVER
    } else {
        0
    }
}

fn files_in(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let is_rules = |path: &PathBuf| path.extension().is_some_and(|end| end == "toml");
    let mut files: Vec<_> = paths.filter(is_rules).take(MOST_FILES).collect();
    files.sort();
    files
}

/// Returns the rules of a file; none if Gemini CLI would not take the file.
fn rules_in(file: &Path) -> Option<Vec<Rule>> {
    let text = ConfigFile::read(file, None).ok()?.text?;
    let rules = edit_toml::value_at(&text, &["rule".to_owned()]).ok()??;
    let mut found = Vec::new();
    for rule in rules.as_array()? {
        let priority = rule["priority"].as_u64().filter(|priority| *priority <= MOST)?;
        let decision = rule["decision"].as_str()?;
        if !["allow", "deny", "ask_user"].contains(&decision) {
            return None;
        }
        let tools = match &rule["toolName"] {
            Value::String(name) => vec![name.as_str()],
            list @ Value::Array(_) => texts(list),
            _ => return None,
        };
        let denies = decision == "deny";
        let tools: Vec<_> =
            tools.into_iter().filter_map(|tool| named_in_list(tool, rule)).collect();
        let depends = ["argsPattern", "commandPrefix", "commandRegex"];
        let is_narrow = depends.iter().any(|key| !rule[*key].is_null());
        if is_for_all(rule) && !(denies && is_narrow) {
            found.push(Rule { priority, denies, tools, file: file.to_owned() });
        }
    }
    Some(found)
}

/// Says whether a rule holds in an interactive session with the default mode, for what the main agent does, whatever a tool says of itself.
fn is_for_all(rule: &Value) -> bool {
    let modes = texts(&rule["modes"]);
    (modes.is_empty() || modes.contains(&"default"))
        && rule["subagent"].is_null()
        && rule["toolAnnotations"].is_null()
        && rule["interactive"] != false
}

/// Returns the name by which a list of tools would mean those of a rule; none if it cannot mean one of the bridge.
fn named_in_list(tool: &str, rule: &Value) -> Option<String> {
    match (rule["mcpName"].as_str(), tool) {
        (None, tool) => Some(tool.to_owned()),
        (Some("*"), "*") => Some("mcp_*".to_owned()),
        // Of one tool of all servers it makes a pattern that fits none.
        (Some(SERVER), tool) => Some(format!("mcp_{SERVER}_{tool}")),
        (Some(_), _) => None,
    }
}
