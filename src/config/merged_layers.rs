//! The merged values of the layers: each layer is read straight over the ones before it, beginning with the defaults.

use std::collections::BTreeMap;

use super::defaults;
use super::error::{Problem, listed};
use super::limits_section::Limits;
use super::notify_section::NotifySettings;
use super::profile::agent_env_filter::EnvPattern;
use super::profile::{Command, Profile};
use super::user_only::{BusOfNew, ProjectTag, Webhook};
use super::value_origin::Sourced;
use super::window_keys::WindowKeys;
use super::workflow_settings::Resume;
use crate::domain::messaging::Arbiter;
use crate::domain::name::Name;
use crate::domain::text::suggest::nearest;

/// The layers read so far.
#[derive(Clone, Debug)]
pub(super) struct Merged {
    pub(super) profiles: BTreeMap<Name, UnfinishedProfile>,
    pub(super) limits: Limits,
    pub(super) gate_env: Sourced<Vec<EnvPattern>>,
    pub(super) arbiter: Sourced<Arbiter>,
    pub(super) pool: Sourced<Vec<Name>>,
    pub(super) resume: Resume,
    pub(super) bus: BusOfNew,
    pub(super) notify: NotifySettings,
    pub(super) webhooks: Vec<Webhook>,
    pub(super) projects: Vec<ProjectTag>,
    pub(super) window_keys: WindowKeys,
    /// Whether the project's file asks to resume workflows automatically, which never counts.
    pub(super) leaves_out_auto_resume: bool,
}

/// A profile to which later layers may still add.
#[derive(Clone, Debug)]
pub(super) struct UnfinishedProfile {
    /// Its `command` means nothing until a layer names one.
    pub(super) profile: Profile,
    pub(super) has_command: bool,
    /// Where the last layer with this profile begins it, as a problem without a message.
    pub(super) place: Problem,
}

impl Default for Merged {
    fn default() -> Self {
        Self {
            profiles: BTreeMap::new(),
            limits: Limits::default(),
            gate_env: Sourced::default_value(Vec::new()),
            arbiter: Sourced::default_value(Arbiter::default()),
            pool: Sourced::default_value(Vec::new()),
            resume: defaults::RESUME.values.default,
            bus: BusOfNew::default(),
            notify: NotifySettings::default(),
            webhooks: Vec::new(),
            projects: Vec::new(),
            window_keys: WindowKeys::default(),
            leaves_out_auto_resume: false,
        }
    }
}

impl Merged {
    /// Returns the profile of that name, added if it is new; the layer that is being read begins it at `place`.
    pub(super) fn profile(&mut self, name: &Name, place: Problem) -> &mut UnfinishedProfile {
        let begun = self.profiles.entry(name.clone()).or_insert_with(|| UnfinishedProfile {
            profile: Profile::begin(name.clone(), Command::OnPath(String::new())),
            has_command: false,
            place: place.clone(),
        });
        begun.place = place;
        begun
    }

    /// Returns the complete profiles, and the problems of the incomplete ones.
    pub(super) fn finished_profiles(&self) -> (BTreeMap<Name, Profile>, Vec<Problem>) {
        let (mut profiles, mut problems) = (BTreeMap::new(), Vec::new());
        for (name, unfinished) in &self.profiles {
            match unfinished.missing(self.profiles.keys()) {
                Some(message) => {
                    problems.push(Problem { message, ..unfinished.place.clone() });
                }
                None => drop(profiles.insert(name.clone(), unfinished.profile.clone())),
            }
        }
        (profiles, problems)
    }
}

impl UnfinishedProfile {
    /// Says what is missing, if anything; `all` are the names of all profiles, for a suggestion.
    fn missing<'n>(&self, all: impl Iterator<Item = &'n Name>) -> Option<String> {
        let name = &self.profile.name;
        if !self.has_command {
            let others = all.filter(|other| *other != name).map(Name::as_str);
            let near = nearest(name.as_str(), others);
            let meant = if near.is_empty() {
                String::new()
            } else {
                format!(", or did you mean the profile {}?", listed(&near, "or"))
            };
            return Some(format!(
                "the profile `{name}` has no `command`: name a program on PATH, an absolute path or `$self`{meant}"
            ));
        }
        let lacks_mode = self.profile.mode.is_none() && !self.profile.modes.is_empty();
        lacks_mode.then(|| {
            format!(
                "the profile `{name}` sets `modes` without `mode`: set `mode` for the policies that `modes` leaves out"
            )
        })
    }
}
