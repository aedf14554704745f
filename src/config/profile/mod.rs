//! A profile: how to start one kind of agent, all its layers merged.

pub(super) mod builtin_profiles;
pub(super) mod profile_choices;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::missing_program::{MissingProgram, Searched};
use crate::domain::name::Name;
use crate::domain::permission::Policy;

use self::profile_choices::{MidTurn, Restart};
use super::agent_env_filter::{self, EnvPattern};
use super::defaults;
use super::value_origin::Sourced;

/// How to start one kind of agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The name, as the first layer that has it writes it.
    pub name: Name,
    pub command: Sourced<Command>,
    /// What the program is started with.
    pub args: Sourced<Vec<String>>,
    /// Variables that are set for the agent, by name.
    pub env: BTreeMap<String, Sourced<String>>,
    /// Variables of our own environment that are let through.
    pub env_pass: Sourced<Vec<EnvPattern>>,
    /// What to answer when the agent asks for permission.
    pub permissions: Sourced<Policy>,
    /// How long a question for permission waits for an answer, in seconds.
    pub permission_seconds: Sourced<u64>,
    /// Parts of paths whose edit is asked about besides those that always are, from all layers together.
    pub guarded: Vec<String>,
    /// Whether the agent may read and write files of the project through us.
    pub file_system: Sourced<bool>,
    /// How long it may take to answer at its start without a sign of life.
    pub start: Sourced<Duration>,
    /// What the agent is for, in the user's words.
    pub roles: Sourced<Vec<String>>,
    /// The model, unless the task names one.
    pub default_model: Option<Sourced<String>>,
    /// The mode of the agent's sessions, unless its own default is wanted.
    pub mode: Option<Sourced<String>>,
    /// The mode in its place while a policy holds, for the policies that want another one.
    pub modes: Vec<(Policy, Sourced<String>)>,
    /// What to do when the agent's process ends by itself.
    pub restart: Sourced<Restart>,
    /// The command that installs the program, for whoever misses it.
    pub install: Option<Sourced<String>>,
    /// How to log in, for whoever is not: the end of a sentence that begins "to log in,".
    pub login: Option<Sourced<String>>,
    /// How long the first prompt of a session waits after our endpoint has listed its tools.
    pub settle: Sourced<Duration>,
    /// Whether its process mixes sessions up, so that each needs a process of its own.
    pub one_session: Sourced<bool>,
    /// How words get into a turn of it that runs.
    pub mid_turn: Sourced<MidTurn>,
    /// What its model sees before the names of our tools.
    pub tool_prefix: Option<Sourced<String>>,
    /// How many bytes of a tool's result it shows its model whole.
    pub result_bytes: Sourced<usize>,
    /// How many bytes of messages it is woken with.
    pub prompt_bytes: Sourced<usize>,
}

/// A program to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// This binary, written `$self`.
    OwnBinary,
    /// The file at an absolute path.
    Absolute(PathBuf),
    /// A bare name, looked up on `PATH`.
    OnPath(String),
}

impl Profile {
    /// Makes a profile of which no file says more than this: everything else has its default.
    pub(in crate::config) fn begin(name: Name, command: Command) -> Self {
        let bytes =
            |number: u64| Sourced::default_value(usize::try_from(number).unwrap_or(usize::MAX));
        let seconds = |number| Sourced::default_value(Duration::from_secs(number));
        let millis = |number| Sourced::default_value(Duration::from_millis(number));
        Self {
            name,
            command: Sourced::default_value(command),
            args: Sourced::default_value(Vec::new()),
            env: BTreeMap::new(),
            env_pass: Sourced::default_value(Vec::new()),
            permissions: Sourced::default_value(defaults::PERMISSIONS.values.default),
            permission_seconds: Sourced::default_value(defaults::PERMISSION_SECONDS.values.default),
            guarded: Vec::new(),
            file_system: Sourced::default_value(defaults::FILE_SYSTEM.values.default),
            start: seconds(defaults::START_SECONDS.values.default),
            roles: Sourced::default_value(Vec::new()),
            default_model: None,
            mode: None,
            modes: Vec::new(),
            restart: Sourced::default_value(defaults::RESTART.values.default),
            install: None,
            login: None,
            settle: millis(defaults::SETTLE_MS.values.default),
            one_session: Sourced::default_value(defaults::ONE_SESSION.values.default),
            mid_turn: Sourced::default_value(defaults::MID_TURN.values.default),
            tool_prefix: None,
            result_bytes: bytes(defaults::RESULT_BYTES.values.default),
            prompt_bytes: bytes(defaults::PROMPT_BYTES.values.default),
        }
    }

    /// Returns the path of the program to start.
    ///
    /// `own_binary` is the path of this binary. `find` is given a bare name, to look up on `PATH`, or an absolute path,
    /// and returns the path of the executable file if there is one.
    pub fn program(
        &self,
        own_binary: &Path,
        find: impl Fn(&str) -> Option<PathBuf>,
    ) -> Result<PathBuf, MissingProgram> {
        let program = match &self.command.value {
            Command::OwnBinary => return Ok(own_binary.to_owned()),
            // A path out of a TOML file is text, so nothing is lost here.
            Command::Absolute(path) => path.to_string_lossy().into_owned(),
            Command::OnPath(name) => name.clone(),
        };
        find(&program).ok_or_else(|| {
            let is_path = Path::new(&program).is_absolute();
            let (profile, origin) = (self.name.clone(), &self.command.source);
            MissingProgram {
                instead: format!(
                    "correct `command` of [agents.{profile}] (it comes from {origin})"
                ),
                profile: Some(profile),
                program,
                searched: if is_path { Searched::AsExecutable } else { Searched::OnPath },
                install: self.install_of_command(),
            }
        })
    }

    /// Returns how the program is installed. What one layer says of its program is not true of another layer's program.
    fn install_of_command(&self) -> Option<String> {
        let install = self.install.as_ref()?;
        (install.source == self.command.source).then(|| install.value.clone())
    }

    /// Returns the mode in which the agent works while a policy holds; none where its own is left to it.
    pub fn mode_under(&self, policy: Policy) -> Option<&str> {
        let own = self.modes.iter().find(|(under, _)| *under == policy);
        let mode = own.map(|(_, mode)| mode).or(self.mode.as_ref());
        mode.map(|mode| mode.value.as_str())
    }

    /// Returns the whole environment of the agent, made from `own`, the environment of this process.
    pub fn environment(
        &self,
        own: impl Iterator<Item = (OsString, OsString)>,
    ) -> Vec<(OsString, OsString)> {
        let set = self.env.iter().map(|(name, value)| (name.as_str(), value.value.as_str()));
        agent_env_filter::filter(own, &self.env_pass.value, set)
    }

    /// Tells whether the project's own file decides anything of what is run, and with which rights.
    ///
    /// A repository from elsewhere may bring such a file, so the user is told at the first start.
    pub fn comes_from_project_file(&self) -> bool {
        !self.fields_from_project_file().is_empty()
    }

    /// Returns the fields by which the project's own file decides what is run, and with which rights.
    pub fn fields_from_project_file(&self) -> Vec<&'static str> {
        [
            ("command", self.command.is_from_project()),
            ("args", self.args.is_from_project()),
            ("env", self.env.values().any(Sourced::is_from_project)),
            ("env_pass", self.env_pass.is_from_project()),
            ("permissions", self.permissions.is_from_project()),
            ("permission_seconds", self.permission_seconds.is_from_project()),
            ("file_system", self.file_system.is_from_project()),
            ("mode", self.mode.as_ref().is_some_and(Sourced::is_from_project)),
            ("modes", self.modes.iter().any(|(_, mode)| mode.is_from_project())),
        ]
        .into_iter()
        .filter_map(|(field, from_project)| from_project.then_some(field))
        .collect()
    }
}
