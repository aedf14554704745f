//! The candidates for a piece of work, which are profiles and live members, and the choice among them.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::on_host::find_host::Hosts;
use super::role_word::role_of;
use super::unknown_agent::unknown_agent;
use crate::bus::BusError;
use crate::bus::state::{Session, Task};
use crate::config::{Config, Profile};
use crate::domain::member::MemberKind;
use crate::domain::missing_program::{MissingProgram, Searched};
use crate::domain::name::Name;
use crate::sys::process::{find_program, has_directory};
use crate::team::error::TeamError;
use crate::team::launch::Launch;
use crate::team::team_handle::Team;

/// The members and profiles that could be given work.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    /// The profiles whose program is installed.
    pub profiles: Vec<Name>,
    /// The profiles whose program is missing, with the reason.
    pub missing: Vec<(Name, String)>,
    pub agents: Vec<Name>,
    /// The live members that are not agents.
    pub others: Vec<Name>,
    /// The words of roles, lanes and capabilities that agents of the profiles and live agents have, each with the reason if the program
    /// of its profile is missing.
    pub words: Vec<(String, Option<String>)>,
    /// The hosts of the team; `None` where they are not known, or do not count.
    pub hosts: Option<Hosts>,
    /// Where the programs of gates are searched, in the form of `PATH`; `None` if that is unknown.
    pub search_path: Option<OsString>,
}

/// The member that gets a piece of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assignee {
    /// A live agent, whose queue the work joins.
    Live(Name),
    /// A new agent of that profile.
    New(String),
}

impl Candidates {
    /// Returns whether the program of this profile, or of all profiles with this role, is not installed.
    pub fn is_missing(&self, name: &str) -> bool {
        if let Some(role) = role_of(name) {
            return self.missing_for_role(&role).is_some();
        }
        self.missing.iter().any(|(missing, _)| missing.as_str() == name)
    }

    /// Returns whether a member or a profile has this name; case does not count.
    pub fn is_known(&self, name: &str) -> bool {
        let missing = self.missing.iter().map(|(name, _)| name);
        let mut all = self.profiles.iter().chain(missing).chain(&self.agents).chain(&self.others);
        all.any(|known| known.as_str().eq_ignore_ascii_case(name))
    }

    /// Returns the same candidates as if every program were installed, to check a plan that does not run here.
    #[must_use]
    pub fn all_installed(&self) -> Self {
        let mut all = self.clone();
        all.profiles.extend(all.missing.drain(..).map(|(name, _)| name));
        all.words.iter_mut().for_each(|(_, missing)| *missing = None);
        all.search_path = None;
        all.hosts = None;
        all
    }

    /// Returns the error for a name that is none of them, as an assignment to it gets it.
    pub fn unknown(&self, name: &str) -> TeamError {
        let missing = self.missing.iter().map(|(name, _)| name);
        let mut profiles: Vec<_> = self.profiles.iter().chain(missing).collect();
        profiles.sort();
        let members = self.agents.iter().chain(&self.others).map(ToString::to_string);
        unknown_agent(name, members, profiles.into_iter().map(ToString::to_string).collect())
    }

    /// Returns the profiles of a configuration, without any live members.
    pub fn profiles(config: &Config, launch: &Launch) -> Self {
        let mut known =
            Self { search_path: launch.search_path().map(OsStr::to_owned), ..Self::default() };
        for profile in config.profiles() {
            let reason = launch.program(profile).err().map(|missing| missing.to_string());
            let words = profile.words().map(|word| (word.to_owned(), reason.clone()));
            known.words.extend(words);
            match reason {
                None => known.profiles.push(profile.name.clone()),
                Some(reason) => known.missing.push((profile.name.clone(), reason)),
            }
        }
        known
    }

    /// Returns why a gate's program cannot run, if that is certain before anything runs: a step may still create the program at a
    /// relative path.
    pub fn missing_program(&self, program: &str) -> Option<String> {
        let search = self.search_path.as_deref()?;
        let path = Path::new(program);
        let (is_there, searched) = if path.is_absolute() {
            (path.exists(), Searched::AtItsPath)
        } else {
            let is_found = has_directory(path) || find_program(path, Some(search)).is_some();
            (is_found, Searched::OnPath)
        };
        let missing = || MissingProgram {
            profile: None,
            program: program.to_owned(),
            searched,
            install: None,
            instead: "correct the gate".to_owned(),
        };
        (!is_there).then(|| missing().to_string())
    }
}

impl Team {
    /// Returns where agents work unless the assignment says otherwise: the project, or the same place in the orchestrator's own
    /// worktree. Links are resolved.
    pub fn ground(&self) -> &Path {
        &self.inner.launch.ground
    }

    /// Returns the members and profiles that could be given work now.
    pub fn candidates(&self) -> Candidates {
        let mut candidates = Candidates::profiles(self.config(), &self.inner.launch);
        // A script plays the agents of a trial, on whatever host its plan wants them.
        candidates.hosts = (!self.config().plays_script()).then(|| self.hosts());
        self.bus().look(|state| {
            for live in state.live_sessions() {
                match live.kind {
                    MemberKind::Agent => {
                        candidates.agents.push(live.name.clone());
                        let traits = &live.traits;
                        let labels = traits.lane.iter().chain(&traits.capabilities);
                        let labels = labels.map(|label| label.as_str().to_owned());
                        let words = live.roles.iter().cloned().chain(labels);
                        candidates.words.extend(words.map(|word| (word, None)));
                    }
                    _ => candidates.others.push(live.name.clone()),
                }
            }
        });
        candidates
    }

    /// Chooses the assignee of work for a profile or a live agent, so that several pieces of work for one profile run in parallel.
    ///
    /// A profile means any idle agent of it that this bridge started under a generated name, else a new one. Any other name of a
    /// live member means that member.
    pub fn assignee(&self, target: &str) -> Assignee {
        let new = || Assignee::New(target.to_owned());
        let profile = self.config().profile(target).ok();
        self.bus().look(|state| {
            let is_of = |live: &Session, profile: &Profile| {
                live.profile.as_deref() == Some(profile.name.as_str())
            };
            let is_generated = |live: &Session| state.is_generated_name(&live.name);
            let me = self.inner.membership.session();
            // A trial's agents only play their scripts.
            let is_real = |live: &&Session| !state.plays_a_trial_of_another(live, me);
            if let Some(live) = state.live_as(target).filter(is_real)
                && profile.is_none_or(|profile| !(is_of(live, profile) && is_generated(live)))
            {
                return Assignee::Live(live.name.clone());
            }
            let Some(profile) = profile else {
                return new();
            };
            let root = self.inner.launch.ground.to_string_lossy();
            let is_free = |live: &&&Session| {
                is_of(live, profile)
                    && is_generated(live)
                    && live.owner == Some(me)
                    && live.cwd.as_deref() == Some(root.as_ref())
                    && live.stop.is_none()
                    && !live.stuck
                    && live.running.is_none()
                    && live.queue.is_empty()
            };
            let all = state.live_sessions();
            all.iter().find(is_free).map_or_else(new, |free| Assignee::Live(free.name.clone()))
        })
    }

    /// Returns the files that an ended task changed, as its result lists them.
    pub fn changed_files(&self, task: &Task) -> Result<Vec<String>, BusError> {
        let details = self.details(task)?.unwrap_or_default();
        Ok(details.files.into_iter().map(|file| file.path).collect())
    }
}
