//! Switches in the entry itself: a field that turns the server off, and lists of its tools.

use serde_json::Value;

use super::find_switches::{setting_in, texts};
use crate::setup::known_client::{EntryInUse, Switch};

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
}

/// Codex 0.166.
pub(in crate::setup) fn of_codex(used: &EntryInUse<'_>) -> Vec<Switch> {
    let fields = EntryFields {
        off: Some(("enabled", false)),
        only: Some("enabled_tools"),
        is_empty_none: true,
        without: Some("disabled_tools"),
    };
    of_entry(used, fields)
}

/// Droid 0.215.
pub(in crate::setup) fn of_droid(used: &EntryInUse<'_>) -> Vec<Switch> {
    let fields = EntryFields {
        off: Some(("disabled", true)),
        only: Some("enabledTools"),
        is_empty_none: false,
        without: Some("disabledTools"),
    };
    of_entry(used, fields)
}

/// Zed, as its documentation says.
pub(in crate::setup) fn of_zed(used: &EntryInUse<'_>) -> Vec<Switch> {
    of_entry(used, EntryFields { off: Some(("enabled", false)), ..EntryFields::default() })
}

/// Judges the fields of the entry.
pub(super) fn of_entry(used: &EntryInUse<'_>, fields: EntryFields) -> Vec<Switch> {
    let entry = &used.entry;
    let place = |field: &str| setting_in(&format!("{}.{field}", used.key), &used.file);
    if let Some((field, value)) = fields.off
        && entry[field] == value
    {
        let setting = setting_in(&format!("{}.{field} = {value}", used.key), &used.file);
        let remedy = format!("if the bridge should run, remove {}", place(field));
        return vec![used.off(&setting, remedy)];
    }
    let mut switches = Vec::new();
    for (field, is_only) in [(fields.only, true), (fields.without, false)] {
        let Some(field) = field else { continue };
        let Value::Array(list) = &entry[field] else { continue };
        if is_only && list.is_empty() && !fields.is_empty_none {
            continue;
        }
        let named = texts(&entry[field]);
        let mut hidden = used.tools();
        hidden.retain(|tool| named.iter().any(|one| names(one, tool)) != is_only);
        let remedy = format!("if the model should have all tools, remove {}", place(field));
        switches.extend(used.hiding(&hidden, &place(field), remedy));
    }
    switches
}

/// Says whether an item of a list names a tool: with arguments, or with its server before it, as well as alone.
fn names(item: &str, tool: &str) -> bool {
    let alone = item.split('(').next().unwrap_or(item);
    alone.strip_prefix("bridge___").unwrap_or(alone) == tool
}
