//! Settings of Codex whose value it does not take: with one of them it takes no configuration at all, as Codex 0.166 was seen to do.
//!
//! It puts the files together first, and so a value counts only if no nearer file has another one.

use std::path::PathBuf;

use serde_json::Value;

use super::find_switches::{Layer, quoted_word, setting_in};
use crate::setup::known_client::{EntryInUse, SERVER, Switch, SwitchEffect};

/// A file of settings, with its path.
pub(super) type CodexFile = (Value, PathBuf);

/// What Codex does then.
const TAKES_NOTHING: &str = "Codex takes no configuration at all";

/// What a setting takes.
enum Takes {
    Text,
    Flag,
    WholeNumber,
    OneOf(&'static [&'static str]),
    Texts,
}

impl Takes {
    fn fits(&self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Flag => value.is_boolean(),
            Self::WholeNumber => value.is_i64(),
            // Some take a table, too.
            Self::OneOf(words) => {
                value.is_object() || value.as_str().is_some_and(|word| words.contains(&word))
            }
            Self::Texts => value.as_array().is_some_and(|list| list.iter().all(Value::is_string)),
        }
    }

    const fn says(&self) -> &'static str {
        match self {
            Self::Text => "is no text",
            Self::Flag => "is neither `true` nor `false`",
            Self::WholeNumber => "is no whole number",
            Self::OneOf(_) => "has a value that Codex does not know",
            Self::Texts => "is no list of texts",
        }
    }
}

/// The settings that are judged, those in tables with their keys. A few of the many: what people set by hand.
const SETTINGS: [(&[&str], Takes); 17] = [
    (&["model"], Takes::Text),
    (&["model_reasoning_effort"], Takes::Text),
    (&["model_context_window"], Takes::WholeNumber),
    (&["model_verbosity"], Takes::OneOf(&["low", "medium", "high"])),
    (&["model_instructions_file"], Takes::Text),
    (&["developer_instructions"], Takes::Text),
    (&["service_tier"], Takes::Text),
    (
        &["approval_policy"],
        Takes::OneOf(&["untrusted", "on-failure", "on-request", "granular", "never"]),
    ),
    (&["sandbox_mode"], Takes::OneOf(&["read-only", "workspace-write", "danger-full-access"])),
    (&["web_search"], Takes::OneOf(&["disabled", "cached", "indexed", "live"])),
    (&["personality"], Takes::OneOf(&["none", "friendly", "pragmatic"])),
    (&["hide_agent_reasoning"], Takes::Flag),
    (&["check_for_update_on_startup"], Takes::Flag),
    (&["mcp_servers", SERVER, "enabled"], Takes::Flag),
    (&["mcp_servers", SERVER, "required"], Takes::Flag),
    (&["mcp_servers", SERVER, "enabled_tools"], Takes::Texts),
    (&["mcp_servers", SERVER, "disabled_tools"], Takes::Texts),
];

/// Finds the first setting that Codex does not take, in files of which the nearest comes first.
pub(super) fn wrong_setting(used: &EntryInUse<'_>, files: &[CodexFile]) -> Option<Switch> {
    let value = |path: &[&str]| {
        files.iter().find_map(|(all, file)| {
            let found = path.iter().try_fold(all, |value, key| value.get(*key))?;
            Some((found, file))
        })
    };
    let of_list = || {
        SETTINGS.iter().find_map(|(path, takes)| {
            let (found, file) = value(path)?;
            (!takes.fits(found)).then(|| (path.join("."), file, takes.says()))
        })
    };
    let of_features = || {
        files.iter().find_map(|(all, file)| {
            let features = all.get("features")?;
            let Some(features) = features.as_object() else {
                return Some(("features".to_owned(), file, "is no table"));
            };
            let mut wrong =
                features.iter().filter(|(_, value)| !value.is_boolean() && !value.is_object());
            let (name, _) = wrong.find(|(name, found)| {
                value(&["features", name]).is_some_and(|(nearest, _)| nearest == *found)
            })?;
            Some((format!("features.{}", short(name)), file, Takes::Flag.says()))
        })
    };
    let of_servers = || {
        files.iter().find_map(|(all, file)| {
            let Some(servers) = all.get("mcp_servers")?.as_object() else {
                return Some(("mcp_servers".to_owned(), file, "is no table"));
            };
            let starts = |name: &str| {
                ["command", "url"].iter().any(|key| value(&["mcp_servers", name, key]).is_some())
            };
            let (name, _) = servers.iter().find(|(name, _)| !starts(name))?;
            let key = format!("mcp_servers.{}", short(name));
            Some((key, file, "names neither a program nor an address"))
        })
    };
    let (key, file, what) = of_list().or_else(of_features).or_else(of_servers)?;
    let setting = setting_in(&key, file);
    let remedy = format!("if the bridge should run, correct or remove {setting}");
    let what = format!("{setting}, which {what}: with it, {TAKES_NOTHING}");
    Some(Switch { unused_file: Some(file.clone()), ..used.off(&what, remedy) })
}

/// The limit for the start of a server, in seconds, below which a busy machine may not start the bridge in time.
const LEAST_START: f64 = 5.0;

/// Judges the limit for the start, which Codex also takes in milliseconds. Where it does not start because of one, that is found elsewhere.
pub(super) fn by_start_limit(used: &EntryInUse<'_>, layers: &[Layer]) -> Option<Switch> {
    let with = |field: &'static str, of_second: f64| {
        let (layer, value) =
            layers.iter().find_map(|layer| Some((layer, layer.entry.get(field)?)))?;
        Some((layer, field, value.as_f64()? / of_second))
    };
    let found = with("startup_timeout_sec", 1.0).or_else(|| with("startup_timeout_ms", 1_000.0));
    let (layer, field, seconds) =
        found.filter(|(_, _, seconds)| *seconds > 0.0 && *seconds < LEAST_START)?;
    let setting = setting_in(&format!("{}.{field}", layer.key), &layer.file);
    Some(Switch {
        unused_file: None,
        effect: SwitchEffect::Partly,
        says: format!(
            "{} gives the bridge only {seconds} s to start, because of {setting}",
            used.client.title
        ),
        remedy: format!("remove {setting}"),
    })
}

/// Shortens a name, which a repository may have brought.
fn short(name: &str) -> String {
    quoted_word(name).trim_matches('`').to_owned()
}
