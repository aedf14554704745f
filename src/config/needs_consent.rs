//! The settings of a project's own file that need the user's consent: those that run programs, pass variables on, grant permissions, or
//! raise limits.
//!
//! The consent is to the very bytes that were read. Settings that only restrict or name something need none.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::agent_env_filter::EnvPattern;
use super::defaults;
use super::limits_section::Limits;
use super::profile::{Command, Profile};
use super::value_origin::Sourced;
use crate::domain::name::Name;
use crate::domain::permission::Policy;

/// Characters of one value that a sentence repeats; [`ProjectFile::lines`] has the whole value.
const SHOWN_CHARACTERS: usize = 200;

/// A file that a project brings, as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brought {
    /// Its path, with links resolved.
    pub path: PathBuf,
    /// The SHA-256 of its bytes, in hexadecimal digits.
    pub sha256: String,
}

impl Brought {
    /// Identifies a file by its path, with links resolved, and by the bytes that were read.
    pub fn of(path: &Path, bytes: &[u8]) -> Self {
        // A file that is gone by now has no other path, and no consent to it is possible.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self::at(path, bytes)
    }

    /// Identifies a file by its path in the project, even if there is another file by now, and by the bytes that were read.
    pub fn at(path: PathBuf, bytes: &[u8]) -> Self {
        Self { path, sha256: HEXLOWER.encode(&Sha256::digest(bytes)) }
    }

    /// Returns the path, quoted.
    pub fn quoted(&self) -> String {
        quoted(&self.path)
    }
}

/// Returns a path, quoted so that it stays on its line and cannot control a terminal.
pub fn quoted(path: &Path) -> String {
    format!("{:?}", path.to_string_lossy())
}

/// The project's own `bridge.toml`, and its settings that need consent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFile {
    /// The file that was read.
    pub file: Brought,
    profiles: BTreeMap<Name, Demands>,
    settings: Vec<Demand>,
}

/// The settings of one profile that need consent.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Demands {
    /// The command line that would be run.
    runs: String,
    values: Vec<Demand>,
}

/// A setting that needs consent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Demand {
    /// `[limits] agents`, or the key of a profile.
    key: Cow<'static, str>,
    /// Its value, quoted so that it stays on its line.
    value: String,
}

impl ProjectFile {
    /// Compares the configuration with the file and without it.
    pub(super) fn of<'a>(
        file: Brought,
        profiles: impl Iterator<Item = (Option<&'a Profile>, &'a Profile)>,
        settings: Vec<Demand>,
    ) -> Self {
        let demands = profiles.filter_map(|(before, now)| {
            let values = of_profile(before, now);
            let runs = format!("{} {:?}", shown_command(&now.command.value), now.args.value);
            (!values.is_empty()).then(|| (now.name.clone(), Demands { runs, values }))
        });
        Self { file, profiles: demands.collect(), settings }
    }

    /// Says whether any of its settings needs consent.
    pub fn needs_yes(&self) -> bool {
        !self.profiles.is_empty() || !self.settings.is_empty()
    }

    /// Describes the command line of that profile and its settings that need consent; `None` if none does.
    pub fn demanded_of(&self, profile: &Name) -> Option<String> {
        let demands = self.profiles.get(profile)?;
        let values = demands.values.iter().map(|demand| {
            let value: String = demand.value.chars().take(SHOWN_CHARACTERS).collect();
            let cut = if value.len() < demand.value.len() { "…" } else { "" };
            format!("{} = {value}{cut}", demand.key)
        });
        let runs: String = demands.runs.chars().take(SHOWN_CHARACTERS).collect();
        let values: Vec<_> = values.collect();
        Some(format!("would run {runs}, with {}", values.join(", ")))
    }

    /// Gives a profile the demands of the profile that it now equals.
    pub(super) fn plays(&mut self, name: &Name, as_is: &Name) {
        match self.profiles.get(as_is).cloned() {
            Some(demands) => drop(self.profiles.insert(name.clone(), demands)),
            None => drop(self.profiles.remove(name)),
        }
    }

    /// Describes all settings that need consent, line by line and uncut.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (name, demands) in &self.profiles {
            lines.push(format!("[agents.{name}] would run {}", demands.runs));
            let values = demands.values.iter();
            lines.extend(values.map(|demand| format!("  {} = {}", demand.key, demand.value)));
        }
        let settings = self.settings.iter();
        lines.extend(settings.map(|demand| format!("{} = {}", demand.key, demand.value)));
        lines
    }
}

/// Returns the settings of a profile that need consent; `before` is the profile without the file, if it existed.
fn of_profile(before: Option<&Profile>, now: &Profile) -> Vec<Demand> {
    // All fields by name, so that a new field needs a decision on whether a project may set it without consent.
    let Profile {
        name: _,
        command,
        args,
        env,
        env_pass,
        permissions,
        file_system,
        mode,
        modes,
        install,
        login,
        // These start no program and pass nothing on.
        permission_seconds: _,
        roles: _,
        default_model: _,
        restart: _,
        settle: _,
        one_session: _,
        guarded: _,
        start: _,
        mid_turn: _,
        tool_prefix: _,
        result_bytes: _,
        prompt_bytes: _,
    } = now;
    let mut demands = Vec::new();
    let mut demand = |key, value: Option<String>| {
        demands.extend(value.map(|value| Demand { key: Cow::Borrowed(key), value }));
    };
    demand("command", new(Some(command), before.map(|before| &before.command)).map(shown_command));
    let own_args = before.is_some() || !args.value.is_empty();
    let changed = new(Some(args), before.map(|before| &before.args)).filter(|_| own_args);
    demand("args", changed.map(|args| format!("{args:?}")));
    for (name, value) in env {
        let before = before.and_then(|before| before.env.get(name));
        let text = new(Some(value), before).map(|value| format!("{name:?} = {value:?}"));
        demand("env", text);
    }
    let passed = before.map(|before| &before.env_pass);
    demand("env_pass", more_passed(env_pass, passed));
    let policy =
        before.map_or(defaults::PERMISSIONS.values.default, |before| before.permissions.value);
    let widens = permissions.is_from_project() && permissions.value.allows_more_than(policy);
    demand("permissions", widens.then(|| format!("{:?}", permissions.value.as_str())));
    let served = before.is_some_and(|before| before.file_system.value);
    let widens = file_system.is_from_project() && file_system.value && !served;
    demand("file_system", widens.then(|| "true".to_owned()));
    // The result counts: a layer's `mode` also removes the `modes` of those before it.
    let is_own = modes.iter().any(|(_, mode)| mode.is_from_project())
        || mode.as_ref().is_some_and(Sourced::is_from_project);
    let held = Policy::WORDS.map(|(word, policy)| {
        let was = before.and_then(|before| before.mode_under(policy));
        (word, was, now.mode_under(policy))
    });
    let changed = |(_, was, is): &&(&str, Option<&str>, Option<&str>)| is_own && was != is;
    if held.iter().all(|one| changed(&one) && one.2 == held[0].2) {
        demand("mode", held[0].2.map(|mode| format!("{mode:?}")));
    } else {
        for (word, _, is) in held.iter().filter(changed) {
            let is = is.map_or_else(|| "none".to_owned(), |mode| format!("{mode:?}"));
            demand("modes", Some(format!("{word} = {is}")));
        }
    }
    // These are commands that a user is asked to type.
    for (key, now, before) in [
        ("install", install, before.map(|before| &before.install)),
        ("login", login, before.map(|before| &before.login)),
    ] {
        let before = before.and_then(Option::as_ref);
        demand(key, new(now.as_ref(), before).map(|text| format!("{text:?}")));
    }
    demands
}

/// Returns the patterns that pass on more than those before, if the project's file set them.
pub(super) fn more_passed(
    now: &Sourced<Vec<EnvPattern>>,
    before: Option<&Sourced<Vec<EnvPattern>>>,
) -> Option<String> {
    let is_known = |pattern: &EnvPattern| {
        let mut before = before.iter().flat_map(|before| &before.value);
        before.any(|known| known.covers(pattern))
    };
    let widens = now.is_from_project() && !now.value.iter().all(is_known);
    let names: Vec<_> = now.value.iter().map(EnvPattern::to_string).collect();
    widens.then(|| format!("{names:?}"))
}

/// Returns the demand to pass variables into gates.
pub(super) fn of_gates(
    before: &Sourced<Vec<EnvPattern>>,
    now: &Sourced<Vec<EnvPattern>>,
) -> Option<Demand> {
    more_passed(now, Some(before)).map(|value| Demand { key: "[workflows] gate_env".into(), value })
}

/// Returns the limits that need consent.
pub(super) fn of_limits(before: &Limits, now: &Limits) -> Vec<Demand> {
    let asked = defaults::NUMBERS.iter().filter_map(|limit| {
        let (before, now) = (before.number(limit.key), now.number(limit.key));
        let needs_yes =
            now.is_from_project() && !limit.without_consent.allows(before.value, now.value);
        let value = format!("{} ({} without it)", now.value, before.value);
        needs_yes.then(|| Demand { key: format!("[limits] {}", limit.key.name).into(), value })
    });
    let mut demands: Vec<_> = asked.collect();
    let now = &now.allow_network_file_system;
    if now.is_from_project() && now.value && !before.allow_network_file_system.value {
        demands.push(Demand {
            key: "[limits] allow_network_file_system".into(),
            value: "true".to_owned(),
        });
    }
    demands
}

/// Returns a value that the project's file has changed.
fn new<'a, T: PartialEq>(
    now: Option<&'a Sourced<T>>,
    before: Option<&Sourced<T>>,
) -> Option<&'a T> {
    let now = now.filter(|now| now.is_from_project())?;
    let same = before.is_some_and(|before| before.value == now.value);
    (!same).then_some(&now.value)
}

fn shown_command(command: &Command) -> String {
    match command {
        Command::OwnBinary => "\"$self\"".to_owned(),
        Command::Absolute(path) => format!("{:?}", path.to_string_lossy()),
        Command::OnPath(name) => format!("{name:?}"),
    }
}
