//! A profile while its layers are laid over each other: any field may still be missing.

use std::collections::BTreeMap;
use std::time::Duration;

use super::agent_env_filter::EnvPattern;
use super::error::{Problem, listed};
use super::profile::{Command, MidTurn, Profile, Restart};
use super::value_origin::Sourced;
use crate::domain::limits;
use crate::domain::name::Name;
use crate::domain::permission::Policy;
use crate::domain::text::suggest::nearest;

/// What one layer, or several laid over each other, say of a profile.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) name: Name,
    /// Where the last layer that has the profile begins it, as a problem that still lacks its message.
    pub(super) place: Problem,
    pub(super) command: Option<Sourced<Command>>,
    pub(super) args: Option<Sourced<Vec<String>>>,
    pub(super) env: BTreeMap<String, Sourced<String>>,
    pub(super) env_pass: Option<Sourced<Vec<EnvPattern>>>,
    pub(super) permissions: Option<Sourced<Policy>>,
    pub(super) permission_seconds: Option<Sourced<u64>>,
    pub(super) guarded: Vec<String>,
    pub(super) file_system: Option<Sourced<bool>>,
    pub(super) start: Option<Sourced<Duration>>,
    pub(super) roles: Option<Sourced<Vec<String>>>,
    pub(super) default_model: Option<Sourced<String>>,
    pub(super) mode: Option<Sourced<String>>,
    pub(super) modes: Option<Vec<(Policy, Sourced<String>)>>,
    pub(super) restart: Option<Sourced<Restart>>,
    pub(super) install: Option<Sourced<String>>,
    pub(super) login: Option<Sourced<String>>,
    pub(super) settle: Option<Sourced<Duration>>,
    pub(super) one_session: Option<Sourced<bool>>,
    pub(super) mid_turn: Option<Sourced<MidTurn>>,
    pub(super) tool_prefix: Option<Sourced<String>>,
    pub(super) result_bytes: Option<Sourced<usize>>,
    pub(super) prompt_bytes: Option<Sourced<usize>>,
}

impl Draft {
    /// Begins a profile of which nothing is said yet.
    pub(super) fn new(name: Name, place: Problem) -> Self {
        Self {
            name,
            place,
            command: None,
            args: None,
            env: BTreeMap::new(),
            env_pass: None,
            permissions: None,
            permission_seconds: None,
            guarded: Vec::new(),
            file_system: None,
            start: None,
            roles: None,
            default_model: None,
            mode: None,
            modes: None,
            restart: None,
            install: None,
            login: None,
            settle: None,
            one_session: None,
            mid_turn: None,
            tool_prefix: None,
            result_bytes: None,
            prompt_bytes: None,
        }
    }

    /// Lays a later layer over this one: what it names wins, the rest stays.
    pub(super) fn overlay(&mut self, later: Draft) {
        fn set<T>(field: &mut Option<T>, later: Option<T>) {
            if later.is_some() {
                *field = later;
            }
        }
        self.place = later.place;
        set(&mut self.command, later.command);
        set(&mut self.args, later.args);
        self.env.extend(later.env);
        set(&mut self.env_pass, later.env_pass);
        set(&mut self.permissions, later.permissions);
        set(&mut self.permission_seconds, later.permission_seconds);
        // No layer takes back what an earlier one guards.
        self.guarded.extend(later.guarded);
        set(&mut self.file_system, later.file_system);
        set(&mut self.start, later.start);
        set(&mut self.roles, later.roles);
        set(&mut self.default_model, later.default_model);
        if later.mode.is_some() {
            // What was right beside the mode of an earlier layer need not be so beside this one.
            self.modes = None;
        }
        set(&mut self.mode, later.mode);
        set(&mut self.modes, later.modes);
        set(&mut self.restart, later.restart);
        set(&mut self.install, later.install);
        set(&mut self.login, later.login);
        set(&mut self.settle, later.settle);
        set(&mut self.one_session, later.one_session);
        set(&mut self.mid_turn, later.mid_turn);
        set(&mut self.tool_prefix, later.tool_prefix);
        set(&mut self.result_bytes, later.result_bytes);
        set(&mut self.prompt_bytes, later.prompt_bytes);
    }

    /// Ends the merge; `others` are the names of all profiles, one of which may have been meant.
    pub(super) fn finish(self, others: &[Name]) -> Result<Profile, Problem> {
        let Some(command) = self.command else {
            return Err(Self::without_command(&self.name, self.place, others));
        };
        let modes = self.modes.unwrap_or_default();
        if self.mode.is_none() && !modes.is_empty() {
            let message = format!(
                "the profile `{}` sets `modes` without `mode`: set `mode` for the policies that \
                    `modes` leaves out",
                self.name
            );
            return Err(Problem { message, ..self.place });
        }
        Ok(Profile {
            name: self.name,
            command,
            args: self.args.unwrap_or_else(|| Sourced::default_value(Vec::new())),
            env: self.env,
            env_pass: self.env_pass.unwrap_or_else(|| Sourced::default_value(Vec::new())),
            permissions: self
                .permissions
                .unwrap_or_else(|| Sourced::default_value(Policy::default())),
            permission_seconds: self
                .permission_seconds
                .unwrap_or_else(|| Sourced::default_value(limits::PERMISSION_SECONDS)),
            guarded: self.guarded,
            file_system: self.file_system.unwrap_or_else(|| Sourced::default_value(false)),
            start: self.start.unwrap_or_else(|| {
                Sourced::default_value(Duration::from_secs(limits::START_SECONDS))
            }),
            roles: self.roles.unwrap_or_else(|| Sourced::default_value(Vec::new())),
            default_model: self.default_model,
            mode: self.mode,
            modes,
            restart: self.restart.unwrap_or_else(|| Sourced::default_value(Restart::default())),
            install: self.install,
            login: self.login,
            settle: self.settle.unwrap_or_else(|| Sourced::default_value(Duration::ZERO)),
            one_session: self.one_session.unwrap_or_else(|| Sourced::default_value(false)),
            mid_turn: self.mid_turn.unwrap_or_else(|| Sourced::default_value(MidTurn::default())),
            tool_prefix: self.tool_prefix,
            result_bytes: self
                .result_bytes
                .unwrap_or_else(|| Sourced::default_value(limits::ANSWER_BYTES)),
            prompt_bytes: self
                .prompt_bytes
                .unwrap_or_else(|| Sourced::default_value(limits::WAKE_BYTES)),
        })
    }

    fn without_command(name: &Name, place: Problem, others: &[Name]) -> Problem {
        let others = others.iter().filter(|other| *other != name).map(Name::as_str);
        let near = nearest(name.as_str(), others);
        let meant = if near.is_empty() {
            String::new()
        } else {
            format!(", or did you mean the profile {}?", listed(&near, "or"))
        };
        let message = format!(
            "the profile `{name}` has no `command`: name a program on PATH, an absolute path or `$self`{meant}"
        );
        Problem { message, ..place }
    }
}
