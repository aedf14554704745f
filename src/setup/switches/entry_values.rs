//! Values in the entry itself with which a client does not start the server, as the clients were seen to read them.

use std::path::Path;

use serde_json::Value;

use super::find_switches::{Layer, setting_in};
use crate::setup::known_client::{EntryInUse, Switch};

/// The fields of a client's entry that are judged.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct JudgedFields {
    /// Whether the server is started in the directory that `cwd` names.
    pub(super) has_cwd: bool,
    /// Whether each variable in `env` must be a text.
    pub(super) has_env_of_texts: bool,
    /// The limits in time, each with the least number that is taken, and whether that itself is not taken.
    pub(super) limits: &'static [(&'static str, Least)],
    /// The lists of texts.
    pub(super) lists: &'static [&'static str],
    /// The fields that an entry with a command must not have.
    pub(super) excluded: &'static [&'static str],
}

/// The least number that is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Least {
    Zero,
    MoreThanZero,
}

/// Judges what several files have under the bridge's name. Each field counts from the first that has it.
pub(super) fn of_values(
    used: &EntryInUse<'_>,
    layers: &[Layer],
    fields: JudgedFields,
) -> Option<Switch> {
    let with = |field: &str| layers.iter().find_map(|layer| Some((layer, layer.entry.get(field)?)));
    let cwd = || {
        let (layer, value) = with("cwd").filter(|_| fields.has_cwd)?;
        (!may_be_directory(used, value)).then_some((layer, "cwd", "is no directory"))
    };
    let env = || {
        let (layer, value) = with("env").filter(|_| fields.has_env_of_texts)?;
        let mut values = value.as_object()?.values();
        values.any(|value| !value.is_string()).then_some((
            layer,
            "env",
            "has a value that is no text",
        ))
    };
    let limit = || {
        fields.limits.iter().find_map(|(field, least)| {
            let (layer, value) = with(field)?;
            let is_taken = value.as_f64().is_some_and(|number| match least {
                Least::Zero => number >= 0.0,
                Least::MoreThanZero => number > 0.0,
            });
            let what = match least {
                Least::Zero => "is no number from 0",
                Least::MoreThanZero => "is no number above 0",
            };
            (!is_taken).then_some((layer, *field, what))
        })
    };
    let list = || {
        fields.lists.iter().find_map(|field| {
            let (layer, value) = with(field)?;
            // What is only searched may be a text or have other items.
            let is_searched = *field == "excludeTools" && (value.is_string() || value.is_array());
            let is_taken = is_nothing(value) || is_searched || is_list_of_texts(value);
            (!is_taken).then_some((layer, *field, "is no list of texts"))
        })
    };
    let excluded = || {
        fields.excluded.iter().find_map(|field| {
            Some((with(field)?.0, *field, "does not belong in an entry with a command"))
        })
    };
    let (layer, field, what) = cwd().or_else(env).or_else(limit).or_else(list).or_else(excluded)?;
    let setting = setting_in(&format!("{}.{field}", layer.key), &layer.file);
    let remedy = format!("if the bridge should run, correct or remove {setting}");
    Some(used.off(&format!("{setting}, which {what}"), remedy))
}

/// Says whether a value counts as none in JavaScript.
fn is_nothing(value: &Value) -> bool {
    let is_zero = value.as_f64().is_some_and(|number| number == 0.0);
    value.is_null() || *value == Value::Bool(false) || value == "" || is_zero
}

fn is_list_of_texts(value: &Value) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(Value::is_string))
}

/// Says whether a value may name a directory. A variable in it is not looked up.
fn may_be_directory(used: &EntryInUse<'_>, value: &Value) -> bool {
    let Some(text) = value.as_str() else {
        return value.is_null();
    };
    let path = Path::new(text);
    let mut around = used.directories.iter().map(|directory| directory.join(path));
    text.is_empty()
        || text.contains('$')
        || path.is_dir() && path.is_absolute()
        || around.any(|path| path.is_dir())
}
