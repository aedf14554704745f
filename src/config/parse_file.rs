//! One configuration file, from its text to typed values: the only place that knows the keys.

use std::path::{Component, Path};
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::agent_env_filter::EnvPattern;
use super::error::{Problem, hint, shown};
use super::profile::{Command, MidTurn, Restart};
use super::profile_draft::Draft;
use super::team_limits::{LIMIT_KEYS, LimitsDraft};
use super::toml_reader::{Reader, TomlEntry, entries};
use super::value_origin::{Sourced, ValueOrigin};
use super::workflow_settings::Resume;
use crate::domain::limits;
use crate::domain::name::Name;
use crate::domain::permission::Policy;
use crate::domain::text::suggest::nearest;

const TOP_KEYS: [&str; 3] = ["agents", "limits", "workflows"];
const WORKFLOW_KEYS: [&str; 2] = ["resume", "gate_env"];
const PROFILE_KEYS: [&str; 22] = [
    "command",
    "args",
    "env",
    "env_pass",
    "permissions",
    "permission_seconds",
    "guarded",
    "file_system",
    "start_seconds",
    "roles",
    "default_model",
    "mode",
    "modes",
    "restart",
    "install",
    "login",
    "settle_ms",
    "one_session",
    "mid_turn",
    "tool_prefix",
    "result_bytes",
    "prompt_bytes",
];

/// The longest `settle_ms`: beyond it the agent needs another remedy than waiting.
const MOST_SETTLE_MS: u64 = 10_000;

/// The longest `tool_prefix`: with it the primer still stays within its budget.
const MOST_PREFIX_BYTES: usize = 24;

/// What one file says.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer {
    pub(super) profiles: Vec<Draft>,
    pub(super) limits: LimitsDraft,
    pub(super) resume: Option<Resume>,
    pub(super) gate_env: Option<Sourced<Vec<EnvPattern>>>,
}

/// Reads a file's text; every value is marked with `source`, every problem with `file`.
pub(super) fn parse(file: &Path, text: &str, source: &ValueOrigin) -> Result<Layer, Vec<Problem>> {
    let mut reader = Reader::new(file, text);
    let document = match DeTable::parse(text) {
        Ok(document) => document,
        Err(error) => {
            // One slip of syntax makes what follows meaningless, so it is told alone.
            let message = format!("this is not TOML: {}", error.message());
            reader.report(&error.span().unwrap_or_default(), message);
            return Err(reader.into_problems());
        }
    };
    let layer = DocumentReader { reader: &mut reader, source }.document(document.get_ref());
    let problems = reader.into_problems();
    if problems.is_empty() { Ok(layer) } else { Err(problems) }
}

/// Walks through one document; what does not fit goes to the reader.
struct DocumentReader<'r, 'a> {
    reader: &'r mut Reader<'a>,
    source: &'r ValueOrigin,
}

impl DocumentReader<'_, '_> {
    fn document(mut self, document: &DeTable<'_>) -> Layer {
        let mut layer = Layer::default();
        for entry in entries(document) {
            match entry.key {
                "agents" => layer.profiles = self.profiles(entry.value),
                "limits" => layer.limits = self.limits(entry.value),
                "workflows" => self.workflows(entry.value, &mut layer),
                _ => self.reader.report_unknown(&entry, "the file", &TOP_KEYS),
            }
        }
        layer
    }

    fn profiles(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<Draft> {
        let mut profiles: Vec<Draft> = Vec::new();
        for entry in self.reader.table(value, "`agents`").unwrap_or_default() {
            let name = match Name::parse(entry.key) {
                Ok(name) => name,
                Err(error) => {
                    self.reader.report(&entry.key_span, format!("invalid profile name: {error}"));
                    continue;
                }
            };
            if let Some(first) = profiles.iter().find(|profile| profile.name == name) {
                let message = format!(
                    "the profile `{name}` already exists as `{}`: names that differ only in case \
                        are the same",
                    first.name
                );
                self.reader.report(&entry.key_span, message);
                continue;
            }
            profiles.push(self.profile(name, &entry));
        }
        profiles
    }

    fn workflows(&mut self, value: &Spanned<DeValue<'_>>, layer: &mut Layer) {
        for entry in self.reader.table(value, "`workflows`").unwrap_or_default() {
            match entry.key {
                "resume" => layer.resume = self.resume(entry.value),
                "gate_env" => {
                    layer.gate_env = self.patterns(entry.value, "`gate_env` of [workflows]");
                }
                _ => self.reader.report_unknown(&entry, "[workflows]", &WORKFLOW_KEYS),
            }
        }
    }

    fn resume(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Resume> {
        let what = "`resume` of [workflows]";
        let word = self.reader.string(value, what)?;
        let resume = Resume::parse(&word);
        if resume.is_none() {
            let message = format!("{what} is {:?}: it must be \"ask\" or \"auto\"", shown(&word));
            self.reader.report(&value.span(), message);
        }
        resume
    }

    fn limits(&mut self, value: &Spanned<DeValue<'_>>) -> LimitsDraft {
        let mut limits = LimitsDraft::default();
        for entry in self.reader.table(value, "`limits`").unwrap_or_default() {
            if !limits.read(self.reader, entry.key, entry.value, self.source) {
                self.reader.report_unknown(&entry, "[limits]", &LIMIT_KEYS);
            }
        }
        limits
    }

    fn profile(&mut self, name: Name, profile: &TomlEntry<'_, '_>) -> Draft {
        let place = self.reader.problem(profile.key_span.start, String::new());
        let table = format!("[agents.{name}]");
        let mut draft = Draft::new(name, place);
        for entry in self
            .reader
            .table(profile.value, &format!("`agents.{}`", draft.name))
            .unwrap_or_default()
        {
            let what = format!("`{}` of {table}", shown(entry.key));
            match entry.key {
                "command" => draft.command = self.command(entry.value, &what),
                "args" => draft.args = self.strings(entry.value, &what),
                "env" => self.variables(entry.value, &what, &table, &mut draft),
                "env_pass" => draft.env_pass = self.patterns(entry.value, &what),
                "permissions" => draft.permissions = self.permissions(entry.value, &what),
                "permission_seconds" => {
                    let range = 1..=limits::MAX_PERMISSION_SECONDS;
                    let seconds = self.reader.number(entry.value, &what, &range);
                    draft.permission_seconds = self.sourced(seconds);
                }
                "guarded" => draft.guarded = self.guarded(entry.value, &what),
                "file_system" => {
                    let wanted = self.reader.boolean(entry.value, &what);
                    draft.file_system = self.sourced(wanted);
                }
                "start_seconds" => {
                    let range = 1..=limits::MAX_START_SECONDS;
                    let seconds = self.reader.number(entry.value, &what, &range);
                    draft.start = self.sourced(seconds.map(Duration::from_secs));
                }
                "restart" => draft.restart = self.word(entry.value, &what, &Restart::WORDS),
                "roles" => {
                    let roles = self.reader.array_of(
                        entry.value,
                        &what,
                        limits::PROFILE_ROLES,
                        |reader, role, each| reader.line(role, each, limits::ROLE_CHARS),
                    );
                    draft.roles = self.sourced(roles);
                }
                "default_model" => {
                    let model = self.reader.line(entry.value, &what, limits::MODEL_BYTES);
                    draft.default_model = self.sourced(model);
                }
                "mode" => {
                    let mode = self.reader.line(entry.value, &what, limits::MODEL_BYTES);
                    draft.mode = self.sourced(mode);
                }
                "modes" => draft.modes = self.modes(entry.value, &what, &table),
                "install" => {
                    let most = limits::PROFILE_WORDS_CHARS;
                    let install = self.reader.line(entry.value, &what, most);
                    draft.install = self.sourced(install);
                }
                "login" => {
                    let most = limits::PROFILE_WORDS_CHARS;
                    let login = self.reader.line(entry.value, &what, most);
                    draft.login = self.sourced(login);
                }
                "settle_ms" => {
                    let settle = self.reader.number(entry.value, &what, &(0..=MOST_SETTLE_MS));
                    draft.settle = self.sourced(settle.map(Duration::from_millis));
                }
                "one_session" => {
                    let one_session = self.reader.boolean(entry.value, &what);
                    draft.one_session = self.sourced(one_session);
                }
                "mid_turn" => {
                    draft.mid_turn = self.word(entry.value, &what, &MidTurn::WORDS);
                }
                "tool_prefix" => draft.tool_prefix = self.tool_prefix(entry.value, &what),
                "result_bytes" => draft.result_bytes = self.bytes(entry.value, &what),
                "prompt_bytes" => draft.prompt_bytes = self.bytes(entry.value, &what),
                _ => self.reader.report_unknown(&entry, &table, &PROFILE_KEYS),
            }
        }
        draft
    }

    /// Reads how much of something an agent shows its model.
    fn bytes(&mut self, value: &Spanned<DeValue<'_>>, what: &str) -> Option<Sourced<usize>> {
        let range = limits::MIN_RESULT_BYTES..=limits::MAX_SHOWN_BYTES;
        let bytes = self.reader.number(value, what, &range);
        self.sourced(bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)))
    }

    fn command(&mut self, value: &Spanned<DeValue<'_>>, what: &str) -> Option<Sourced<Command>> {
        let text = self.reader.filled_string(value, what)?;
        let command = if text == "$self" {
            Command::OwnBinary
        } else if Path::new(&text).is_absolute() {
            Command::Absolute(text.into())
        } else if text.starts_with('$') || text.contains('/') {
            let message = format!(
                "{what} is `{}`: it must be a program on PATH, an absolute path or `$self`",
                shown(&text)
            );
            self.reader.report(&value.span(), message);
            return None;
        } else {
            Command::OnPath(text)
        };
        self.sourced(Some(command))
    }

    fn strings(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        what: &str,
    ) -> Option<Sourced<Vec<String>>> {
        let strings = self.reader.array(value, what, Reader::string);
        self.sourced(strings)
    }

    fn variables(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        what: &str,
        table: &str,
        draft: &mut Draft,
    ) {
        for entry in self.reader.table(value, what).unwrap_or_default() {
            let name = shown(entry.key);
            if entry.key.is_empty() || entry.key.contains(['=', '\0']) {
                self.reader.report(
                    &entry.key_span,
                    format!("{what} cannot set `{name}`: it is not the name of a variable"),
                );
                continue;
            }
            let text = self.reader.string(entry.value, &format!("`env.{name}` of {table}"));
            if let Some(text) = self.sourced(text) {
                draft.env.insert(entry.key.to_owned(), text);
            }
        }
    }

    fn patterns(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        what: &str,
    ) -> Option<Sourced<Vec<EnvPattern>>> {
        let patterns = self.reader.array(value, what, |reader, element, each| {
            let text = reader.string(element, each)?;
            match text.parse::<EnvPattern>() {
                Ok(pattern) => Some(pattern),
                Err(error) => {
                    reader
                        .report(&element.span(), format!("{what} has `{}`: {error}", shown(&text)));
                    None
                }
            }
        });
        self.sourced(patterns)
    }

    /// Reads parts of paths, such as `deploy` or `ci/run.sh`.
    fn guarded(&mut self, value: &Spanned<DeValue<'_>>, what: &str) -> Vec<String> {
        let parts = self.reader.array(value, what, |reader, element, each| {
            let text = reader.filled_string(element, each)?;
            let path = Path::new(&text);
            let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
            if !path.components().all(is_plain) || text.contains("//") || text.ends_with('/') {
                let message = format!(
                    "{what} has `{}`: it must be a path inside the project: names separated by `/`",
                    shown(&text)
                );
                reader.report(&element.span(), message);
                return None;
            }
            Some(text)
        });
        parts.unwrap_or_default()
    }

    fn permissions(&mut self, value: &Spanned<DeValue<'_>>, what: &str) -> Option<Sourced<Policy>> {
        let text = self.reader.string(value, what)?;
        let found = Policy::parse(&text);
        if found.is_none() {
            let known = Policy::WORDS.map(|(word, _)| word);
            let hint = hint(&nearest(&text, known), &known, "the choices are");
            self.reader.report(&value.span(), format!("{what} is `{}`: {hint}", shown(&text)));
        }
        self.sourced(found)
    }

    /// Reads the beginning of a tool's name. It goes into prompts, so it can be nothing but that.
    fn tool_prefix(&mut self, value: &Spanned<DeValue<'_>>, what: &str) -> Option<Sourced<String>> {
        let prefix = self.reader.filled_string(value, what)?;
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
        if prefix.len() > MOST_PREFIX_BYTES || !prefix.chars().all(is_of_name) {
            let message = format!(
                "{what} is `{}`: it must be at most {MOST_PREFIX_BYTES} letters, digits, `_`, `-`, `.` or `/`",
                shown(&prefix)
            );
            self.reader.report(&value.span(), message);
            return None;
        }
        self.sourced(Some(prefix))
    }

    /// Reads a mode for each policy that is named.
    fn modes(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        what: &str,
        table: &str,
    ) -> Option<Vec<(Policy, Sourced<String>)>> {
        let mut modes = Vec::new();
        for entry in self.reader.table(value, what)? {
            let Some(policy) = Policy::parse(entry.key) else {
                let known = Policy::WORDS.map(|(word, _)| word);
                self.reader.report_unknown(&entry, what, &known);
                continue;
            };
            let each = format!("`modes.{}` of {table}", entry.key);
            let mode = self.reader.line(entry.value, &each, limits::MODEL_BYTES);
            modes.extend(self.sourced(mode).map(|mode| (policy, mode)));
        }
        Some(modes)
    }

    fn word<T: Copy>(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        what: &str,
        words: &[(&'static str, T)],
    ) -> Option<Sourced<T>> {
        let text = self.reader.string(value, what)?;
        let found = words.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            let hint = hint(&nearest(&text, known.iter().copied()), &known, "the choices are");
            let message = format!("{what} is `{}`: {hint}", shown(&text));
            self.reader.report(&value.span(), message);
        }
        self.sourced(found.map(|(_, meant)| *meant))
    }

    fn sourced<T>(&self, value: Option<T>) -> Option<Sourced<T>> {
        value.map(|value| Sourced::new(value, self.source.clone()))
    }
}
