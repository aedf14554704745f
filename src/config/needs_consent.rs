//! The settings of a project's own file that need the user's consent: those that run programs, pass variables on, grant permissions,
//! raise limits, or say who decides.
//!
//! The consent is to the very bytes that were read. Settings that only restrict or name something need none.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::defaults;
use super::limits_section::Limits;
use super::profile::agent_env_filter::EnvPattern;
use super::profile::{Command, Profile};
use super::value_origin::{Sourced, ValueOrigin};
use crate::domain::member::Label;
use crate::domain::messaging::Arbiter;
use crate::domain::name::Name;
use crate::domain::permission::Policy;
use crate::domain::text::exactly::{exact_words, exactly};
use crate::domain::text::visible_letters::beginning;

/// Characters of one value that a sentence repeats; [`ProjectFile::lines`] has the whole value.
const SHOWN_CHARACTERS: usize = 200;

/// The name of the setting that passes variables into gates.
const GATE_ENV: &str = "[workflows] gate_env";

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
    exactly(&path.to_string_lossy())
}

/// A configuration file that the project brings, its own `bridge.toml` or one that `--config` names, and its settings that need consent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFile {
    /// The file that was read.
    pub file: Brought,
    /// Its path as the command line names it; none for the project's own `bridge.toml`.
    named: Option<PathBuf>,
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
    /// Compares the configuration with all files of the project and without them; those values count that this file has set.
    pub(super) fn of<'a>(
        file: Brought,
        source: &ValueOrigin,
        profiles: impl Iterator<Item = (Option<&'a Profile>, &'a Profile)>,
        settings: Vec<Demand>,
    ) -> Self {
        let demands = profiles.filter_map(|(before, now)| {
            let values = of_profile(before, now, source);
            let args = exact_words(&now.args.value);
            let runs = format!("{} {args}", shown_command(&now.command.value));
            (!values.is_empty()).then(|| (now.name.clone(), Demands { runs, values }))
        });
        let named = match source {
            ValueOrigin::NamedInProject(path) => Some(path.clone()),
            _ => None,
        };
        Self { file, named, profiles: demands.collect(), settings }
    }

    /// Names the file in a sentence.
    pub fn title(&self) -> String {
        match &self.named {
            None => "the project's own bridge.toml".to_owned(),
            Some(path) => format!("{}, a file of the project that --config names", quoted(path)),
        }
    }

    /// Returns the argument of `trust` that stands for the file, if it needs one.
    pub fn trust_argument(&self) -> Option<&Path> {
        self.named.as_deref()
    }

    /// Says whether it passes variables into gates, which needs consent.
    pub(super) fn lets_into_gates(&self) -> bool {
        self.settings.iter().any(|demand| demand.key == GATE_ENV)
    }

    /// Says whether any of its settings needs consent.
    pub fn needs_yes(&self) -> bool {
        !self.profiles.is_empty() || !self.settings.is_empty()
    }

    /// Describes the command line of that profile and its settings that need consent; `None` if none does.
    pub fn demanded_of(&self, profile: &Name) -> Option<String> {
        let demands = self.profiles.get(profile)?;
        let values = demands.values.iter().map(|demand| {
            format!("{} = {}", demand.key, beginning(&demand.value, SHOWN_CHARACTERS))
        });
        let runs = beginning(&demands.runs, SHOWN_CHARACTERS);
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
            for Demand { key, value } in &demands.values {
                // Long arguments are read once.
                let is_above = value.len() > SHOWN_CHARACTERS && demands.runs.contains(value);
                let value = if is_above { "as above" } else { value };
                lines.push(format!("  {key} = {value}"));
            }
        }
        let settings = self.settings.iter();
        lines.extend(settings.map(|demand| format!("{} = {}", demand.key, demand.value)));
        lines
    }
}

/// Returns the settings of a profile that this file has set and that need consent; `before` is the profile without the project's files,
/// if it existed.
fn of_profile(before: Option<&Profile>, now: &Profile, by: &ValueOrigin) -> Vec<Demand> {
    // All fields by name, so that a new field needs a decision on whether a project may set it without consent.
    let Profile {
        name: _,
        command,
        args,
        env,
        env_pass,
        permissions,
        file_system,
        user_entry_wins,
        mode,
        modes,
        install,
        login,
        roles,
        lane,
        capabilities,
        // These start no program and pass nothing on.
        permission_seconds: _,
        topics: _,
        default_model: _,
        restart: _,
        settle: _,
        one_session: _,
        guarded: _,
        start: _,
        mid_turn: _,
        interrupt: _,
        tool_prefix: _,
        result_bytes: _,
        prompt_bytes: _,
    } = now;
    let mut demands = Vec::new();
    let mut demand = |key, value: Option<String>| {
        demands.extend(value.map(|value| Demand { key: Cow::Borrowed(key), value }));
    };
    let was = before.map(|before| &before.command);
    demand("command", new(Some(command), was, by).map(shown_command));
    let own_args = before.is_some() || !args.value.is_empty();
    let changed = new(Some(args), before.map(|before| &before.args), by).filter(|_| own_args);
    demand("args", changed.map(|args| exact_words(args)));
    for (name, value) in env {
        let before = before.and_then(|before| before.env.get(name));
        let text = new(Some(value), before, by)
            .map(|value| format!("{} = {}", exactly(name), exactly(value)));
        demand("env", text);
    }
    // By these words others find the agent: they decide who gets work and messages.
    let was = before.map(|before| &before.roles);
    demand("roles", new(Some(roles), was, by).map(|roles| exact_words(roles)));
    let was = before.and_then(|before| before.lane.as_ref());
    demand("lane", new(lane.as_ref(), was, by).map(|lane| exactly(lane.as_str())));
    let was = before.map(|before| &before.capabilities);
    let words = |words: &Vec<Label>| {
        exact_words(&words.iter().map(|word| word.as_str().to_owned()).collect::<Vec<_>>())
    };
    demand("capabilities", new(Some(capabilities), was, by).map(words));
    let passed = before.map(|before| &before.env_pass);
    demand("env_pass", more_passed(env_pass, passed, by));
    let policy =
        before.map_or(defaults::PERMISSIONS.values.default, |before| before.permissions.value);
    let widens = permissions.is_from(by) && permissions.value.allows_more_than(policy);
    demand("permissions", widens.then(|| format!("{:?}", permissions.value.as_str())));
    let served = before.is_some_and(|before| before.file_system.value);
    let widens = file_system.is_from(by) && file_system.value && !served;
    demand("file_system", widens.then(|| "true".to_owned()));
    let shared = before.is_some_and(|before| before.user_entry_wins.value);
    let widens = user_entry_wins.is_from(by) && user_entry_wins.value && !shared;
    demand("user_entry_wins", widens.then(|| "true".to_owned()));
    // The result counts: a layer's `mode` also removes the `modes` of those before it.
    let is_own = modes.iter().any(|(_, mode)| mode.is_from(by))
        || mode.as_ref().is_some_and(|mode| mode.is_from(by));
    let held = Policy::WORDS.map(|(word, policy)| {
        let was = before.and_then(|before| before.mode_under(policy));
        (word, was, now.mode_under(policy))
    });
    let changed = |(_, was, is): &&(&str, Option<&str>, Option<&str>)| is_own && was != is;
    if held.iter().all(|one| changed(&one) && one.2 == held[0].2) {
        demand("mode", held[0].2.map(exactly));
    } else {
        for (word, _, is) in held.iter().filter(changed) {
            let is = is.map_or_else(|| "none".to_owned(), exactly);
            demand("modes", Some(format!("{word} = {is}")));
        }
    }
    // These are commands that a user is asked to type.
    for (key, now, before) in [
        ("install", install, before.map(|before| &before.install)),
        ("login", login, before.map(|before| &before.login)),
    ] {
        let before = before.and_then(Option::as_ref);
        demand(key, new(now.as_ref(), before, by).map(|text| exactly(text)));
    }
    demands
}

/// Returns the patterns that pass on more than those before, if this file set them.
fn more_passed(
    now: &Sourced<Vec<EnvPattern>>,
    before: Option<&Sourced<Vec<EnvPattern>>>,
    by: &ValueOrigin,
) -> Option<String> {
    let is_known = |pattern: &EnvPattern| {
        let mut before = before.iter().flat_map(|before| &before.value);
        before.any(|known| known.covers(pattern))
    };
    let widens = now.is_from(by) && !now.value.iter().all(is_known);
    let names: Vec<_> = now.value.iter().map(EnvPattern::to_string).collect();
    widens.then(|| exact_words(&names))
}

/// Returns the demand of this file to pass variables into gates.
pub(super) fn of_gates(
    before: &Sourced<Vec<EnvPattern>>,
    now: &Sourced<Vec<EnvPattern>>,
    by: &ValueOrigin,
) -> Option<Demand> {
    let passed = more_passed(now, Some(before), by);
    passed.map(|value| Demand { key: GATE_ENV.into(), value })
}

/// Returns the demand of this file to choose who decides disagreements.
pub(super) fn of_arbiter(
    before: &Sourced<Arbiter>,
    now: &Sourced<Arbiter>,
    by: &ValueOrigin,
) -> Option<Demand> {
    let chosen = new(Some(now), Some(before), by)?;
    let value = format!("{} ({} without it)", exactly(&chosen.to_string()), before.value);
    Some(Demand { key: "[conflict] arbiter".into(), value })
}

/// Returns the limits that this file has set and that need consent.
pub(super) fn of_limits(before: &Limits, now: &Limits, by: &ValueOrigin) -> Vec<Demand> {
    let asked = defaults::NUMBERS.iter().filter_map(|limit| {
        let (before, now) = (before.number(limit.key), now.number(limit.key));
        let needs_yes = now.is_from(by) && !limit.without_consent.allows(before.value, now.value);
        let value = format!("{} ({} without it)", now.value, before.value);
        needs_yes.then(|| Demand { key: format!("[limits] {}", limit.key.name).into(), value })
    });
    let mut demands: Vec<_> = asked.collect();
    let now = &now.allow_network_file_system;
    if now.is_from(by) && now.value && !before.allow_network_file_system.value {
        demands.push(Demand {
            key: "[limits] allow_network_file_system".into(),
            value: "true".to_owned(),
        });
    }
    demands
}

/// Returns a value that this file has changed.
fn new<'a, T: PartialEq>(
    now: Option<&'a Sourced<T>>,
    before: Option<&Sourced<T>>,
    by: &ValueOrigin,
) -> Option<&'a T> {
    let now = now.filter(|now| now.is_from(by))?;
    let same = before.is_some_and(|before| before.value == now.value);
    (!same).then_some(&now.value)
}

fn shown_command(command: &Command) -> String {
    match command {
        Command::OwnBinary => "\"$self\"".to_owned(),
        Command::Absolute(path) => quoted(path),
        Command::OnPath(name) => exactly(name),
    }
}
