//! Settings of Claude Code with a value of the wrong kind.

use serde_json::Value;

use super::Settings;
use crate::setup::switches::entry_values::number_in;

/// The permission modes of Claude Code. `manual` is another name of `default`.
const MODES: [&str; 7] =
    ["default", "manual", "acceptEdits", "bypassPermissions", "plan", "dontAsk", "auto"];

/// Finds a setting of the user's or the project's with a value of the wrong kind. Because of one such value, Claude Code uses nothing of
/// that file. Only those are looked for with which that was seen.
pub(super) fn invalid_setting(settings: &Settings) -> Option<String> {
    let (all, permissions) = (&settings.value, &settings.value["permissions"]);
    let mode = &permissions["defaultMode"];
    let is_list = |value: &Value| value.is_null() || value.is_array();
    let lists = ["allow", "deny", "ask"].map(|key| (key, &permissions[key]));
    let of_permissions = lists.into_iter().find(|(_, value)| !is_list(value));
    // Those that may guard permissions. Of another event it leaves out what is wrong, and uses the rest of the file.
    let guards = ["PreToolUse", "PermissionRequest"];
    let mut guards = guards.into_iter().filter(|event| !is_list(&all["hooks"][*event]));
    if settings.is_managed {
        None
    } else if !all["model"].is_null() && !all["model"].is_string() {
        Some("model".to_owned())
    } else if !mode.is_null() && !mode.as_str().is_some_and(|mode| MODES.contains(&mode)) {
        Some("permissions.defaultMode".to_owned())
    } else if let Some((key, _)) = of_permissions {
        Some(format!("permissions.{key}"))
    } else {
        let guards = guards.next().map(|event| format!("hooks.{event}"));
        guards.or_else(|| wrong_kind(all).map(str::to_owned))
    }
}

/// The settings that are `true` or `false`, also as a text.
const SWITCHES: [&str; 3] =
    ["enableAllProjectMcpServers", "disableAllHooks", "includeCoAuthoredBy"];

/// The lists of texts. A text alone counts as a list of that one.
const LISTS: [&str; 2] = ["enabledMcpjsonServers", "disabledMcpjsonServers"];

/// A number from 0.
const DAYS: &str = "cleanupPeriodDays";

/// Finds a setting at the top with a value of the wrong kind.
fn wrong_kind(all: &Value) -> Option<&'static str> {
    let is_text = |value: &Value| ["true", "false"].iter().any(|word| *value == **word);
    let is_switch = |value: &Value| value.is_null() || value.is_boolean() || is_text(value);
    let has_other = |value: &Value| {
        value.as_array().is_some_and(|items| items.iter().any(|item| !item.is_string()))
    };
    let is_days = |value: &Value| {
        let number = number_in(value);
        value.is_null() || number.is_some_and(|days| days >= 0.0)
    };
    let mut switches = SWITCHES.into_iter().filter(|key| !is_switch(&all[*key]));
    let mut lists = LISTS.into_iter().filter(|key| has_other(&all[*key]));
    let days = || (!is_days(&all[DAYS])).then_some(DAYS);
    switches.next().or_else(|| lists.next()).or_else(days)
}
