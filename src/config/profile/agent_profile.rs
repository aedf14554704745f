//! The settings of one kind of agent, each value with the layer that it comes from.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use super::agent_command::Command;
use super::agent_env_filter::{self, EnvPattern};
use super::profile_choices::{Interrupt, MidTurn, Restart};
use crate::config::defaults;
use crate::config::value_origin::Sourced;
use crate::domain::member::{Label, Traits};
use crate::domain::messaging::is_same_word;
use crate::domain::name::Name;
use crate::domain::permission::Policy;

/// How to start one kind of agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The name as the first layer with this profile writes it.
    pub name: Name,
    pub command: Sourced<Command>,
    /// The arguments of the program.
    pub args: Sourced<Vec<String>>,
    /// Variables that are set for the agent, by name.
    pub env: BTreeMap<String, Sourced<String>>,
    /// Variables of our own environment that are passed on.
    pub env_pass: Sourced<Vec<EnvPattern>>,
    /// The answer to the agent's questions for permission.
    pub permissions: Sourced<Policy>,
    /// How long a question for permission waits for an answer, in seconds.
    pub permission_seconds: Sourced<u64>,
    /// Parts of paths whose edit needs permission in addition to those that always do, from all layers together.
    pub guarded: Vec<String>,
    /// Whether the agent may read and write files of the project through us.
    pub file_system: Sourced<bool>,
    /// How long a start may take without a sign of life.
    pub start: Sourced<Duration>,
    /// The purpose of the agent, in the user's words.
    pub roles: Sourced<Vec<String>>,
    /// The part of the work that it does.
    pub lane: Option<Sourced<Label>>,
    /// What it can do.
    pub capabilities: Sourced<Vec<Label>>,
    /// What it wants to hear of.
    pub topics: Sourced<Vec<Label>>,
    /// The model, unless the task names one.
    pub default_model: Option<Sourced<String>>,
    /// The mode of the agent's sessions, unless the agent's default applies.
    pub mode: Option<Sourced<String>>,
    /// The modes for policies that need another mode.
    pub modes: Vec<(Policy, Sourced<String>)>,
    /// What to do when the agent's process ends by itself.
    pub restart: Sourced<Restart>,
    /// The command that installs the program, for the error when it is missing.
    pub install: Option<Sourced<String>>,
    /// How to log in, for the error when a login is missing: the end of a sentence that begins "to log in,".
    pub login: Option<Sourced<String>>,
    /// How long the first prompt of a session waits after our endpoint has listed its tools.
    pub settle: Sourced<Duration>,
    /// Whether its process mixes sessions up, so that each needs a process of its own.
    pub one_session: Sourced<bool>,
    /// Whether an MCP server of our name in its user's own settings takes the place of ours.
    pub user_entry_wins: Sourced<bool>,
    /// How messages get into its running turn.
    pub mid_turn: Sourced<MidTurn>,
    /// The messages that interrupt it.
    pub interrupt: Sourced<Interrupt>,
    /// The prefix with which its model sees the names of our tools.
    pub tool_prefix: Option<Sourced<String>>,
    /// How many bytes of a tool's result it shows to its model uncut.
    pub result_bytes: Sourced<usize>,
    /// How many bytes of messages an idle agent gets in the prompt that wakes it.
    pub prompt_bytes: Sourced<usize>,
}

impl Profile {
    /// Makes a profile with a name and a command; everything else has its default.
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
            lane: None,
            capabilities: Sourced::default_value(Vec::new()),
            topics: Sourced::default_value(Vec::new()),
            default_model: None,
            mode: None,
            modes: Vec::new(),
            restart: Sourced::default_value(defaults::RESTART.values.default),
            install: None,
            login: None,
            settle: millis(defaults::SETTLE_MS.values.default),
            one_session: Sourced::default_value(defaults::ONE_SESSION.values.default),
            user_entry_wins: Sourced::default_value(defaults::USER_ENTRY_WINS.values.default),
            mid_turn: Sourced::default_value(defaults::MID_TURN.values.default),
            interrupt: Sourced::default_value(defaults::INTERRUPT.values.default),
            tool_prefix: None,
            result_bytes: bytes(defaults::RESULT_BYTES.values.default),
            prompt_bytes: bytes(defaults::PROMPT_BYTES.values.default),
        }
    }

    /// Returns what an agent of this profile says of itself.
    pub fn traits(&self) -> Traits {
        Traits {
            lane: self.lane.as_ref().map(|lane| lane.value.clone()),
            capabilities: self.capabilities.value.clone(),
            topics: self.topics.value.clone(),
            surface: None,
        }
    }

    /// Returns the words by which its agents are addressed: roles, lane and capabilities.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let lane = self.lane.iter().map(|lane| lane.value.as_str());
        let roles = self.roles.value.iter().map(String::as_str);
        roles.chain(lane).chain(self.capabilities.value.iter().map(Label::as_str))
    }

    /// Says whether its agents are addressed by a word.
    pub fn has_word(&self, word: &Label) -> bool {
        self.words().any(|own| is_same_word(own, word.as_str()))
    }

    /// Returns the mode in which the agent works under a policy; `None` for the agent's default.
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
}
