//! Switches in the entry itself: a field that turns the server off, and lists of its tools. Codex adds the fields of several files.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::codex_settings::{by_start_limit, wrong_setting};
use super::entry_values::{JudgedFields, Least, is_nothing, of_values, replaced_in_project};
use super::find_switches::{Layer, setting_in, texts};
use crate::domain::limits::CLIENT_WORD_CHARS;
use crate::domain::text::shown_path::ShownPath as _;
use crate::domain::text::visible_letters::beginning;
use crate::setup::edits::config_edit::names_bridge;
use crate::setup::known_client::{ClientFile, EntryInUse, EntryScope, Switch, SwitchEffect};
use crate::sys::fs::git_worktrees::Worktree;

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
    /// Whether the items of the list of hidden tools are taken as they are, and not without their arguments.
    pub(super) is_without_exact: bool,
    /// The same of the other list.
    pub(super) is_only_exact: bool,
}

/// Codex 0.166. Each field counts from the project's file, if the user trusts the project, else from the user's.
pub(in crate::setup) fn of_codex(used: &EntryInUse<'_>) -> Vec<Switch> {
    let fields = EntryFields {
        off: Some(("enabled", false)),
        only: Some("enabled_tools"),
        is_empty_none: true,
        without: Some("disabled_tools"),
        is_without_exact: true,
        is_only_exact: true,
    };
    let trust = CodexTrust::of(used);
    let files = trust.files(used);
    let layers: Vec<_> = files.iter().filter_map(|file| used.layer_in(file.clone())).collect();
    if used.scope == EntryScope::Project && files.iter().all(|file| file.path != used.file) {
        // The entry that counts, if there is one, is farther away.
        return match layers.into_iter().find(|layer| names_bridge(&layer.entry)) {
            Some(Layer { file, key, entry }) => {
                of_codex(&EntryInUse { file, key, entry, scope: EntryScope::User, ..*used })
            }
            None => vec![trust.not_given(used)],
        };
    }
    let mut switches = of_layers(used, &layers, fields);
    switches.extend(of_values(used, &layers, CODEX_VALUES));
    switches.extend(replaced_arguments(used, &layers));
    switches.extend(by_start_limit(used, &layers));
    let read = |file: ClientFile| Some((used.read_toml(&file.path)?, file.path));
    switches.extend(wrong_setting(used, &files.into_iter().filter_map(read).collect::<Vec<_>>()));
    switches
}

/// The directories of a project whose files Codex reads, because the user trusts them.
struct CodexTrust {
    /// What the user has decided, by directory.
    decided: Value,
    session: PathBuf,
    repository: Option<PathBuf>,
    /// The repository of a worktree, which has its trust.
    main: Option<PathBuf>,
}

impl CodexTrust {
    fn of(used: &EntryInUse<'_>) -> Self {
        let of_user = used.files_of_user().into_iter().next();
        let settings = of_user.and_then(|file| used.read_toml(&file.path)).unwrap_or_default();
        let session = used.project.unwrap_or(Path::new("/")).to_owned();
        let main = Worktree::around(&session);
        Self {
            decided: settings["projects"].clone(),
            repository: session.ancestors().find(|one| one.join(".git").exists()).map(Into::into),
            main: main.as_ref().and_then(Worktree::main).map(Into::into),
            session,
        }
    }

    /// Returns what the user has decided about the files in a directory.
    fn level(&self, directory: &Path) -> Option<&Value> {
        let level = |one: &Path| self.decided[&*one.to_string_lossy()].get("trust_level");
        let of_repository = || level(self.repository.as_deref()?);
        level(directory).or_else(of_repository).or_else(|| level(self.main.as_deref()?))
    }

    /// Returns the files that Codex puts together, the nearest first.
    fn files(&self, used: &EntryInUse<'_>) -> Vec<ClientFile> {
        let of_project = used.files_in_project().into_iter();
        let is_trusted = |directory: &Path| self.level(directory).is_some_and(|it| it == "trusted");
        let of_project = of_project.filter(|(directory, _)| is_trusted(directory));
        of_project.map(|(_, file)| file).chain(used.files_of_user()).collect()
    }

    /// Says that Codex does not read the only entry, because the user does not trust the project. Undecided, it asks in a session.
    fn not_given(&self, used: &EntryInUse<'_>) -> Switch {
        let of_entry = used.file.ancestors().nth(2).unwrap_or(&self.session);
        let is_refused = self.level(of_entry).is_some();
        let directory = self.repository.as_ref().unwrap_or(&self.session).shown();
        let yet = if is_refused { "" } else { " yet" };
        let says = format!(
            "Codex does not start the bridge from {}, because you do not trust {directory}{yet}",
            used.file.shown()
        );
        let how = if is_refused {
            "set its `trust_level` to `\"trusted\"` in Codex's own `config.toml`"
        } else {
            "start `codex` there and trust it when it asks"
        };
        let effect = if is_refused { SwitchEffect::Off } else { SwitchEffect::Partly };
        let remedy = format!(
            "if you trust {directory}, {how}, or run `cli-team-bridge setup --client codex` for all projects"
        );
        Switch { effect, says, remedy, unused_file: None }
    }
}

/// The fields of Codex's entry that can keep it, or all of Codex, from starting.
const CODEX_VALUES: JudgedFields = JudgedFields {
    has_cwd: true,
    has_env_of_texts: true,
    limits: &[
        ("startup_timeout_sec", Least::MoreThanZero),
        ("startup_timeout_ms", Least::WholeMoreThanZero),
        ("tool_timeout_sec", Least::Zero),
    ],
    lists: &[],
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
        unused_file: None,
        effect: SwitchEffect::Partly,
        says: format!(
            "{} starts the bridge with other arguments than your own ({}), because of {setting}",
            used.client.title,
            beginning(&arguments.to_string(), CLIENT_WORD_CHARS)
        ),
        remedy: format!("if your own should count, remove {setting}"),
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
        is_only_exact: false,
    };
    let replaced = replaced_in_project(used);
    if replaced.is_some() {
        return Vec::from_iter(replaced);
    }
    let mut switches = of_entry(used, fields);
    let values = JudgedFields { has_env_of_texts: true, ..JudgedFields::default() };
    switches.extend(of_values(used, &[used.layer()], values));
    switches
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
        && is_set_to(&layer.entry[field], value)
    {
        let found = beginning(&layer.entry[field].to_string(), CLIENT_WORD_CHARS);
        let setting = place(layer, &format!("{field} = {found}"));
        let remedy = format!("if the bridge should run, remove {}", place(layer, field));
        return vec![used.off(&setting, remedy)];
    }
    let mut lists = Vec::new();
    for (field, is_only) in [(fields.only, true), (fields.without, false)] {
        let Some((field, layer)) = field.and_then(|field| Some((field, first_with(field)?))) else {
            continue;
        };
        let mut hidden = used.tools();
        // A text there is searched for the name of each tool.
        if let Value::String(text) = &layer.entry[field]
            && field == "excludeTools"
        {
            hidden.retain(|tool| text.contains(tool));
            lists.push((hidden, place(layer, field)));
            continue;
        }
        let Value::Array(list) = &layer.entry[field] else { continue };
        // What else a list has is judged with the other values.
        let is_judged =
            list.iter().all(Value::is_string) && (!list.is_empty() || fields.is_empty_none);
        if is_only && !is_judged {
            continue;
        }
        let named = texts(&layer.entry[field]);
        let is_exact = if is_only { fields.is_only_exact } else { fields.is_without_exact };
        let is_named = |one: &str, tool: &str| {
            if is_exact { one == tool } else { names(one, tool) }
        };
        hidden.retain(|tool| named.iter().any(|one| is_named(one, tool)) != is_only);
        lists.push((hidden, place(layer, field)));
    }
    if let [(one, of_one), (other, of_other)] = &lists[..]
        && used.tools().iter().all(|tool| one.contains(tool) || other.contains(tool))
    {
        // Each alone may leave some.
        lists = vec![(used.tools(), format!("{of_one} and {of_other}"))];
    }
    let hiding = |(hidden, setting): (Vec<_>, String)| {
        let remedy = format!("if the model should have all tools, remove {setting}");
        used.hiding(&hidden, &setting, remedy)
    };
    lists.into_iter().filter_map(hiding).collect()
}

/// Says whether a field has the value that turns a server off. Where that is `true`, whatever counts as true in JavaScript does so, too.
fn is_set_to(found: &Value, off: bool) -> bool {
    if off { !is_nothing(found) } else { *found == off }
}

/// Says whether an item of a list names a tool: with arguments, or with its server before it, as well as alone.
fn names(item: &str, tool: &str) -> bool {
    let alone = item.split('(').next().unwrap_or(item);
    alone.strip_prefix("bridge___").unwrap_or(alone) == tool
}
