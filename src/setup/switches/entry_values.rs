//! Values in the entry itself with which a client does not start the server, as the clients were seen to read them.

use std::path::Path;

use serde_json::Value;

use super::find_switches::{Layer, setting_in};
use crate::setup::known_client::{EntryInUse, Reason, Switch};

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
    WholeMoreThanZero,
    /// As a timer of Node.js takes it: more than zero, also as a text; `null` is none. A larger number than it knows is over at once.
    Timer,
}

/// The first number of milliseconds that a timer of Node.js does not take.
const TOO_LONG: f64 = 2_147_483_648.0;

/// Returns the number that a value is in JavaScript, if it is one.
pub(super) fn number_in(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// Judges what several files have under the bridge's name. Each field counts from the first that has it.
pub(super) fn of_values(
    used: &EntryInUse<'_>,
    layers: &[Layer],
    fields: JudgedFields,
) -> Option<Switch> {
    let Reason { setting, correction } = wrong_value(used, layers, fields)?;
    Some(used.off(&setting, format!("if the bridge should run, {correction}")))
}

/// Finds a value with which the client does not start the server.
pub(super) fn wrong_value(
    used: &EntryInUse<'_>,
    layers: &[Layer],
    fields: JudgedFields,
) -> Option<Reason> {
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
            let is_number = |fits: fn(f64) -> bool| value.as_f64().is_some_and(fits);
            let is_too_long = number_in(value).is_some_and(|number| number >= TOO_LONG);
            let (is_taken, what) = match least {
                Least::Zero => (is_number(|number| number >= 0.0), "is no number from 0"),
                Least::MoreThanZero => (is_number(|number| number > 0.0), "is no number above 0"),
                Least::WholeMoreThanZero => (
                    is_number(|number| number > 0.0 && number.fract() == 0.0),
                    "is no whole number above 0",
                ),
                Least::Timer if is_too_long => {
                    (false, "is so large that each call is over at once")
                }
                Least::Timer => {
                    let is_positive = number_in(value).is_some_and(|number| number > 0.0);
                    (value.is_null() || is_positive, "is no number above 0")
                }
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
    let correction = format!("correct or remove {setting}");
    Some(Reason { setting: format!("{setting}, which {what}"), correction })
}

/// Judges what the project has under the bridge's name without a program or an address, such as a list of tools alone: it is not added to
/// the user's entry but takes its place, and then there is nothing to start.
pub(super) fn replaced_in_project(used: &EntryInUse<'_>) -> Option<Switch> {
    let starts = ["command", "url", "httpUrl", "tcp"];
    let files = used.files_in_project().into_iter().map(|(_, file)| file);
    // The nearest come first, and the entry in use may be among them.
    let mut nearer =
        files.take_while(|file| file.path != used.file).filter_map(|file| used.layer_in(file));
    let layer = nearer.find(|layer| starts.iter().all(|key| layer.entry.get(key).is_none()))?;
    let setting = setting_in(&layer.key, &layer.file);
    let remedy = format!("if the bridge should run, remove {setting}");
    let what = format!("{setting}, which takes the place of yours and names no program");
    Some(used.off(&what, remedy))
}

/// Says whether a value counts as none in JavaScript.
pub(in crate::setup) fn is_nothing(value: &Value) -> bool {
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
