//! Reads one configuration file over the layers before it. The keys and their possible values are in `defaults`.

use std::path::{Component, Path};
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::defaults;
use super::error::{Problem, hint, shown};
use super::key::{Choice, Key, Line, Number, TOP_KEYS, names};
use super::merged_layers::Merged;
use super::notify_section;
use super::profile::agent_env_filter::EnvPattern;
use super::profile::{Command, Profile};
use super::toml_reader::{Reader, TomlEntry, entries};
use super::user_only;
use super::value_origin::{Sourced, ValueOrigin};
use super::workflow_settings::Resume;
use crate::domain::limits;
use crate::domain::name::Name;
use crate::domain::permission::Policy;
use crate::domain::text::suggest::nearest;

/// Reads a file's text over `merged` and returns its problems; every value is marked with `source`, every problem with `file`.
///
/// If there is a problem, only part of the file has been read, and `merged` must not be used.
pub(super) fn read_over(
    merged: &mut Merged,
    file: &Path,
    text: &str,
    source: &ValueOrigin,
) -> Vec<Problem> {
    let mut reader = Reader::new(file, text);
    match DeTable::parse(text) {
        Ok(document) => {
            DocumentReader { reader: &mut reader, source, merged }.document(document.get_ref());
        }
        Err(error) => {
            // After one syntax error the rest is meaningless, so it is reported alone.
            let message = format!("this is not TOML: {}", error.message());
            reader.report(&error.span().unwrap_or_default(), message);
        }
    }
    reader.into_problems()
}

/// Walks through one document; invalid values go to the reader.
struct DocumentReader<'r, 'a> {
    reader: &'r mut Reader<'a>,
    source: &'r ValueOrigin,
    merged: &'r mut Merged,
}

/// Sets a field to the value that was read, if it was valid.
fn set<T>(field: &mut Sourced<T>, value: Option<Sourced<T>>) {
    if let Some(value) = value {
        *field = value;
    }
}

/// The same for a field without a default.
fn set_optional<T>(field: &mut Option<T>, value: Option<T>) {
    if value.is_some() {
        *field = value;
    }
}

impl DocumentReader<'_, '_> {
    fn document(mut self, document: &DeTable<'_>) {
        let mut all = entries(document);
        // No name of a pool is one of a profile, wherever in the file that is.
        all.sort_by_key(|entry| entry.key == "names");
        for entry in all {
            match entry.key {
                "agents" => self.profiles(entry.value),
                "conflict" => self.conflict(entry.value),
                "limits" => self.limits(entry.value),
                "names" => self.names(entry.value),
                "top" if self.source.is_projects() => {
                    let message = "`top` counts only in your own config.toml";
                    self.reader.report(&entry.key_span, message);
                }
                "top" => self.merged.window_keys.read_over(self.reader, entry.value),
                "bus" | "notify" | "projects" | "team" | "webhooks" => self.users_own(&entry),
                "workflows" => self.workflows(entry.value),
                _ => self.reader.report_unknown(&entry, "the file", &TOP_KEYS),
            }
        }
    }

    fn profiles(&mut self, value: &Spanned<DeValue<'_>>) {
        let mut named: Vec<Name> = Vec::new();
        for entry in self.reader.table(value, "`agents`").unwrap_or_default() {
            let name = match Name::parse(entry.key) {
                Ok(name) => name,
                Err(error) => {
                    self.reader.report(&entry.key_span, format!("invalid profile name: {error}"));
                    continue;
                }
            };
            if let Some(first) = named.iter().find(|first| **first == name) {
                let message = format!(
                    "the profile `{name}` already exists as `{first}`: names that differ only in case are the same"
                );
                self.reader.report(&entry.key_span, message);
                continue;
            }
            if named.len() == limits::PROFILES {
                let message =
                    format!("`agents` has more than {} profiles, the limit", limits::PROFILES);
                return self.reader.report(&entry.key_span, message);
            }
            self.profile(&name, &entry);
            named.push(name);
        }
    }

    fn names(&mut self, value: &Spanned<DeValue<'_>>) {
        for entry in self.reader.table(value, "`names`").unwrap_or_default() {
            if entry.key == defaults::POOL.name {
                let profiles: Vec<_> = self.merged.profiles.keys().cloned().collect();
                let pool = self.reader.pool(entry.value, "`pool` of [names]", &profiles);
                let pool = self.sourced(pool);
                set(&mut self.merged.pool, pool);
            } else {
                self.reader.report_unknown(&entry, "[names]", &names(&defaults::NAMES));
            }
        }
    }

    fn conflict(&mut self, value: &Spanned<DeValue<'_>>) {
        for entry in self.reader.table(value, "`conflict`").unwrap_or_default() {
            if entry.key == defaults::ARBITER.name {
                let arbiter = self.reader.arbiter(entry.value, "`arbiter` of [conflict]");
                let arbiter = self.sourced(arbiter);
                set(&mut self.merged.arbiter, arbiter);
            } else {
                self.reader.report_unknown(&entry, "[conflict]", &names(&defaults::CONFLICT));
            }
        }
    }

    fn workflows(&mut self, value: &Spanned<DeValue<'_>>) {
        for entry in self.reader.table(value, "`workflows`").unwrap_or_default() {
            match entry.key {
                "resume" => self.resume(entry.value),
                "gate_env" => {
                    let patterns = self.patterns(entry.value, "`gate_env` of [workflows]");
                    set(&mut self.merged.gate_env, patterns);
                }
                _ => {
                    self.reader.report_unknown(&entry, "[workflows]", &names(&defaults::WORKFLOWS));
                }
            }
        }
    }

    /// Reads a section that only the user's own files may have: it runs programs, tells others what happens here, or opens the teams of other
    /// directories to it, which no repository decides.
    fn users_own(&mut self, entry: &TomlEntry<'_, '_>) {
        let (key, value) = (entry.key, entry.value);
        if self.source.is_projects() {
            let named = user_only::named(key);
            let message = format!("`{named}` is yours alone: put it in your own `config.toml`");
            return self.reader.report(&entry.key_span, message);
        }
        match key {
            "notify" => notify_section::read(self.reader, value, &mut self.merged.notify),
            "bus" | "team" => user_only::read_bus(self.reader, (key, value), &mut self.merged.bus),
            "projects" => user_only::read_projects(self.reader, value, &mut self.merged.projects),
            _ => user_only::read_webhooks(self.reader, value, &mut self.merged.webhooks),
        }
    }

    fn resume(&mut self, value: &Spanned<DeValue<'_>>) {
        let what = "`resume` of [workflows]";
        let Some(word) = self.reader.string(value, what) else { return };
        let words = defaults::RESUME.values.words;
        let Some((_, resume)) = words.iter().find(|(known, _)| *known == word) else {
            let known: Vec<_> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
            let message =
                format!("{what} is {:?}: it must be {}", shown(&word), known.join(" or "));
            return self.reader.report(&value.span(), message);
        };
        if *resume == Resume::Auto && self.source.is_projects() {
            // Otherwise a repository would run by itself as soon as a user looks into it. Not even consent allows it.
            self.merged.leaves_out_auto_resume = true;
        } else {
            self.merged.resume = *resume;
        }
    }

    fn limits(&mut self, value: &Spanned<DeValue<'_>>) {
        for entry in self.reader.table(value, "`limits`").unwrap_or_default() {
            let what = format!("`{}` of [limits]", entry.key);
            let number = defaults::NUMBERS.iter().find(|limit| limit.key.name == entry.key);
            if let Some(limit) = number {
                if let Some(number) = self.number(entry.value, &what, limit.key) {
                    self.merged.limits.set(limit.key, number);
                }
            } else if entry.key == defaults::ALLOW_NETWORK_FILE_SYSTEM.name {
                let allowed = self.switch(entry.value, &what);
                set(&mut self.merged.limits.allow_network_file_system, allowed);
            } else {
                self.reader.report_unknown(&entry, "[limits]", &names(&defaults::LIMITS));
            }
        }
    }

    fn profile(&mut self, name: &Name, table: &TomlEntry<'_, '_>) {
        let place = self.reader.problem(table.key_span.start, String::new());
        let begun = self.merged.profile(name, place);
        // Read separately from the layers before it, because the reader borrows them too.
        let mut profile = begun.profile.clone();
        let title = format!("[agents.{name}]");
        let keys = self.reader.table(table.value, &format!("`agents.{name}`")).unwrap_or_default();
        if keys.iter().any(|entry| entry.key == defaults::MODE.name) {
            // A mode for one policy may fit the mode of an earlier layer but not this one.
            profile.modes = Vec::new();
        }
        let mut has_command = false;
        for entry in keys {
            if entry.key == defaults::COMMAND.name {
                has_command = true;
            }
            self.key_of_profile(&mut profile, &title, &entry);
        }
        let begun = self.merged.profiles.get_mut(name).expect("it was begun above");
        begun.profile = profile;
        begun.has_command |= has_command;
    }

    fn key_of_profile(&mut self, profile: &mut Profile, title: &str, entry: &TomlEntry<'_, '_>) {
        let what = format!("`{}` of {title}", shown(entry.key));
        let (value, what) = (entry.value, what.as_str());
        match entry.key {
            "command" => set(&mut profile.command, self.command(value, what)),
            "args" => set(&mut profile.args, self.strings(value, what)),
            "env" => self.variables(value, what, title, profile),
            "env_pass" => set(&mut profile.env_pass, self.patterns(value, what)),
            "permissions" => {
                set(&mut profile.permissions, self.word(value, what, &defaults::PERMISSIONS));
            }
            "permission_seconds" => {
                let seconds = self.number(value, what, &defaults::PERMISSION_SECONDS);
                set(&mut profile.permission_seconds, seconds);
            }
            // No layer removes guarded paths of an earlier one.
            "guarded" => profile.guarded.extend(self.guarded(value, what)),
            "file_system" => set(&mut profile.file_system, self.switch(value, what)),
            "start_seconds" => {
                let seconds = self.number(value, what, &defaults::START_SECONDS);
                set(&mut profile.start, seconds.map(|start| start.map(Duration::from_secs)));
            }
            "roles" => set(&mut profile.roles, self.roles(value, what)),
            "lane" => {
                let lane = self.reader.label(value, what);
                set_optional(&mut profile.lane, self.sourced(lane));
            }
            "capabilities" => {
                let capabilities = self.reader.labels(value, what);
                set(&mut profile.capabilities, self.sourced(capabilities));
            }
            "topics" => {
                let topics = self.reader.labels(value, what);
                set(&mut profile.topics, self.sourced(topics));
            }
            "default_model" => {
                let model = self.line(value, what, &defaults::DEFAULT_MODEL);
                set_optional(&mut profile.default_model, model);
            }
            "mode" => set_optional(&mut profile.mode, self.line(value, what, &defaults::MODE)),
            "modes" => {
                if let Some(modes) = self.modes(value, what, title) {
                    profile.modes = modes;
                }
            }
            "restart" => set(&mut profile.restart, self.word(value, what, &defaults::RESTART)),
            "install" => {
                set_optional(&mut profile.install, self.line(value, what, &defaults::INSTALL));
            }
            "login" => set_optional(&mut profile.login, self.line(value, what, &defaults::LOGIN)),
            "settle_ms" => {
                let settle = self.number(value, what, &defaults::SETTLE_MS);
                set(&mut profile.settle, settle.map(|settle| settle.map(Duration::from_millis)));
            }
            "one_session" => set(&mut profile.one_session, self.switch(value, what)),
            "user_entry_wins" => set(&mut profile.user_entry_wins, self.switch(value, what)),
            "mid_turn" => set(&mut profile.mid_turn, self.word(value, what, &defaults::MID_TURN)),
            "interrupt" => {
                set(&mut profile.interrupt, self.word(value, what, &defaults::INTERRUPT));
            }
            "tool_prefix" => {
                set_optional(&mut profile.tool_prefix, self.tool_prefix(value, what));
            }
            "result_bytes" => {
                let bytes = self.number(value, what, &defaults::RESULT_BYTES);
                set(&mut profile.result_bytes, bytes.map(|bytes| bytes.map(in_memory)));
            }
            "prompt_bytes" => {
                let bytes = self.number(value, what, &defaults::PROMPT_BYTES);
                set(&mut profile.prompt_bytes, bytes.map(|bytes| bytes.map(in_memory)));
            }
            _ => self.reader.report_unknown(entry, title, &names(&defaults::PROFILE)),
        }
    }

    fn number(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        what: &str,
        key: &Key<Number>,
    ) -> Option<Sourced<u64>> {
        let number = self.reader.number(value, what, &key.values.range());
        self.sourced(number)
    }

    fn switch(&mut self, value: &Spanned<DeValue<'_>>, what: &str) -> Option<Sourced<bool>> {
        let switch = self.reader.boolean(value, what);
        self.sourced(switch)
    }

    fn line(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        what: &str,
        key: &Key<Line>,
    ) -> Option<Sourced<String>> {
        let line = self.reader.line(value, what, key.values.most);
        self.sourced(line)
    }

    /// A role is a word, because the team addresses whoever has it by it.
    fn roles(&mut self, value: &Spanned<DeValue<'_>>, what: &str) -> Option<Sourced<Vec<String>>> {
        let role = |reader: &mut Reader<'_>, role: &Spanned<DeValue<'_>>, each: &str| {
            reader.label(role, each).map(|role| role.as_str().to_owned())
        };
        let roles = self.reader.array_of(value, what, limits::PROFILE_ROLES, role);
        self.sourced(roles)
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
        profile: &mut Profile,
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
                profile.env.insert(entry.key.to_owned(), text);
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

    /// Reads the beginning of a tool's name. It goes into prompts, so it may consist of the characters of a name only.
    fn tool_prefix(&mut self, value: &Spanned<DeValue<'_>>, what: &str) -> Option<Sourced<String>> {
        let prefix = self.reader.filled_string(value, what)?;
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
        let most = defaults::TOOL_PREFIX.values.most;
        if prefix.len() > most || !prefix.chars().all(is_of_name) {
            let message = format!(
                "{what} is `{}`: it must be at most {most} letters, digits, `_`, `-`, `.` or `/`",
                shown(&prefix)
            );
            self.reader.report(&value.span(), message);
            return None;
        }
        self.sourced(Some(prefix))
    }

    /// Reads a mode for each named policy.
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
            let mode = self.reader.line(entry.value, &each, defaults::MODE.values.most);
            modes.extend(self.sourced(mode).map(|mode| (policy, mode)));
        }
        Some(modes)
    }

    fn word<T: Copy>(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        what: &str,
        key: &Key<Choice<T>>,
    ) -> Option<Sourced<T>> {
        let words = key.values.words;
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

/// Returns a number of bytes that have to fit in memory.
fn in_memory(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
