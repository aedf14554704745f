//! The layers: which files exist, how each is read, and the configuration that results from all of them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::error::{ConfigError, Problem, UnknownProfile};
use super::limits_section::Limits;
use super::merged_layers::Merged;
use super::needs_consent::{self, Brought, ProjectFile};
use super::notify_section::NotifySettings;
use super::parse_file;
use super::profile::Profile;
use super::profile::agent_env_filter::{self, EnvPattern};
use super::profile::builtin_profiles;
use super::user_only::{BusOfNew, ProjectTag, Webhook};
use super::value_origin::{Sourced, ValueOrigin};
use super::window_keys::WindowKeys;
use super::workflow_settings::Resume;
use crate::domain::member::Label;
use crate::domain::messaging::Arbiter;
use crate::domain::name::Name;
use crate::domain::text::suggest::nearest;
use crate::sys::fs::bounded_file;
use crate::sys::fs::rights_of_others::closed_part;

/// The largest configuration file: no user writes more by hand, so a larger one is a mistake.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Where to look for configuration.
#[derive(Debug, Clone, Copy)]
pub struct Load<'a> {
    /// The directory of the project.
    pub project: &'a Path,
    /// The user's home directory: `HOME`.
    pub home: Option<&'a Path>,
    /// The user's configuration directory: `XDG_CONFIG_HOME`. A relative one is ignored, as the XDG Base Directory Specification
    /// requires; then it is `.config` in the home directory.
    pub config_home: Option<&'a Path>,
    /// The file that `--config` names; it must exist.
    pub explicit: Option<NamedFile<'a>>,
}

/// A file that the command line names.
#[derive(Debug, Clone, Copy)]
pub struct NamedFile<'a> {
    pub path: &'a Path,
    pub author: Author,
}

/// Whose word a named file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    User,
    /// The project brings the file. Whoever wrote the repository may also have written the command line that names it: it may be that
    /// of an MCP server in a file of the repository.
    Project,
}

/// All layers, merged.
#[derive(Debug, Clone)]
pub struct Config {
    /// Including everything from the project's file. The bridge starts a profile only with the consent that it needs.
    profiles: BTreeMap<Name, Profile>,
    without_consent: Settings,
    with_consent: Settings,
    pool: Vec<Name>,
    resume: Resume,
    bus: BusOfNew,
    notify: NotifySettings,
    webhooks: Vec<Webhook>,
    projects: Vec<ProjectTag>,
    window_keys: WindowKeys,
    project_files: Vec<ProjectFile>,
    /// Whether all files of the project that need consent have it.
    has_consent: bool,
    leaves_out_auto_resume: bool,
    /// Whether a script plays agents in place of their programs.
    plays_script: bool,
}

/// The settings of a configuration apart from profiles.
#[derive(Debug, Clone)]
struct Settings {
    limits: Limits,
    gate_env: Sourced<Vec<EnvPattern>>,
    arbiter: Sourced<Arbiter>,
}

impl Load<'_> {
    /// Returns the path of the user's own file, even if it does not exist.
    pub fn user_file(&self) -> Option<PathBuf> {
        let given =
            self.config_home.filter(|directory| directory.is_absolute()).map(Path::to_owned);
        let directory = given.or_else(|| self.home.map(|home| home.join(".config")))?;
        Some(directory.join("cli-team-bridge").join("config.toml"))
    }

    /// Returns the path of the project's own file, even if it does not exist.
    pub fn project_file(&self) -> PathBuf {
        self.project.join(".claude").join("bridge.toml")
    }
}

impl Config {
    /// Reads all layers. Blocks while it reads at most three files.
    pub fn load(load: Load<'_>) -> Result<Self, ConfigError> {
        let mut layers = Layers::default();
        for built_in in builtin_profiles::FILES {
            layers.add(Path::new(built_in.file), built_in.text, &ValueOrigin::BuiltIn);
        }
        if let Some(own) = load.user_file() {
            layers.add_file(&ValueOrigin::User(own))?;
        }
        layers.add_project_file(&load)?;
        if let Some(named) = load.explicit
            && !layers.add_named(named)?
        {
            return Err(ConfigError::Missing { path: named.path.to_owned() });
        }
        layers.finish()
    }

    /// Returns the profile of that name; case does not count.
    pub fn profile(&self, name: &str) -> Result<&Profile, UnknownProfile> {
        let found = Name::parse(name).ok().and_then(|name| self.profiles.get(&name));
        found.ok_or_else(|| {
            let known: Vec<String> = self.profiles.keys().map(Name::to_string).collect();
            UnknownProfile { name: name.to_owned(), nearest: nearest(name, &known), known }
        })
    }

    /// Replaces the profiles of these names with the scripted agent, which plays a script.
    pub fn play(
        &mut self,
        names: impl IntoIterator<Item = Name>,
        script: &Path,
    ) -> Result<(), UnknownProfile> {
        let scripted = self.profile("scripted")?.clone();
        for name in names {
            for file in &mut self.project_files {
                file.plays(&name, &scripted.name);
            }
            let mut profile = scripted.clone();
            profile.name = name.clone();
            if let Some(replaced) = self.profiles.get(&name) {
                // A plan may mean it by one of these words.
                profile.roles.clone_from(&replaced.roles);
                profile.lane.clone_from(&replaced.lane);
                profile.capabilities.clone_from(&replaced.capabilities);
            }
            let script = script.to_string_lossy().into_owned();
            profile.args.value.extend(["--script".to_owned(), script]);
            self.profiles.insert(name, profile);
        }
        self.plays_script = true;
        Ok(())
    }

    /// Replaces the profiles that have this role with the scripted agent. If none has it, a profile of that name gets it.
    pub fn play_role(&mut self, role: &Label, script: &Path) -> Result<(), UnknownProfile> {
        let with_it = self.profiles.values().filter(|profile| profile.has_word(role));
        let names: Vec<_> = with_it.map(|profile| profile.name.clone()).collect();
        if !names.is_empty() {
            return self.play(names, script);
        }
        let name = role.name();
        self.play([name.clone()], script)?;
        if let Some(profile) = self.profiles.get_mut(name) {
            profile.roles.value.push(role.as_str().to_owned());
        }
        Ok(())
    }

    /// Returns whether a script plays agents in place of their programs ([`play`](Self::play)).
    pub fn plays_script(&self) -> bool {
        self.plays_script
    }

    /// Returns the names for peers that are started without one, in their order.
    pub fn pool(&self) -> &[Name] {
        &self.pool
    }

    /// Returns the setting for interrupted workflows.
    pub fn resume(&self) -> Resume {
        self.resume
    }

    /// Returns what a new bus is to be, which a project's file cannot say.
    pub fn bus_of_new(&self) -> &BusOfNew {
        &self.bus
    }

    /// Returns how the user wants to be notified, which a project's file cannot set.
    pub fn notify(&self) -> &NotifySettings {
        &self.notify
    }

    /// Returns the webhooks of the user, which a project's file cannot set.
    pub fn webhooks(&self) -> &[Webhook] {
        &self.webhooks
    }

    /// Returns the projects of the user, which a project's file cannot add to.
    pub fn projects(&self) -> &[ProjectTag] {
        &self.projects
    }

    /// Returns the keys of the window `top`, as the user's own file binds them.
    pub fn window_keys(&self) -> &WindowKeys {
        &self.window_keys
    }

    pub fn limits(&self) -> &Limits {
        &self.settings().limits
    }

    /// Returns who decides disagreements, unless somebody can do what they are about. A project's file decides that with consent alone.
    pub fn arbiter(&self) -> &Arbiter {
        &self.settings().arbiter.value
    }

    /// Returns the whole environment of a gate, made from `own`, the environment of this process. Variables that the project's file
    /// passes on need the recorded consent, and the user may have revoked it since: `holds` says whether it is still valid.
    pub fn gate_environment(
        &self,
        own: impl Iterator<Item = (OsString, OsString)>,
        holds: impl FnOnce(&Brought) -> bool,
    ) -> Vec<(OsString, OsString)> {
        let settings = match self.lets_into_gates() {
            Some(file) if !holds(&file.file) => &self.without_consent,
            _ => self.settings(),
        };
        agent_env_filter::filter(own, &settings.gate_env.value, std::iter::empty())
    }

    /// Returns the project's file that passes variables into gates by recorded consent, if one does.
    pub fn lets_into_gates(&self) -> Option<&ProjectFile> {
        let mut files = self.project_files.iter().filter(|_| self.has_consent);
        files.find(|file| file.lets_into_gates())
    }

    /// Returns the files of the project with settings that need its user's consent, unless all of them have it.
    pub fn unagreed(&self) -> impl Iterator<Item = &ProjectFile> {
        let files = self.project_files.iter();
        files.filter(|file| !self.has_consent && file.needs_yes())
    }

    /// Returns the files of the project: its own, and one that `--config` names.
    pub fn project_files(&self) -> &[ProjectFile] {
        &self.project_files
    }

    /// Says whether a file of the project asks to resume workflows automatically, which never counts.
    pub fn leaves_out_auto_resume(&self) -> bool {
        self.leaves_out_auto_resume
    }

    /// Records the user's consent to the project's files as they were read.
    pub fn agree(&mut self) {
        self.has_consent = true;
    }

    fn settings(&self) -> &Settings {
        if self.has_consent { &self.with_consent } else { &self.without_consent }
    }

    /// Returns all profiles in alphabetical order.
    pub fn profiles(&self) -> impl Iterator<Item = &Profile> {
        self.profiles.values()
    }
}

/// The layers read so far, in their order.
#[derive(Default)]
struct Layers {
    with: Merged,
    /// All layers but the project's files, for the settings without consent.
    without: Merged,
    project_files: Vec<(Brought, ValueOrigin)>,
    problems: Vec<Problem>,
}

impl Layers {
    /// Adds a file, and says whether it exists.
    fn add_file(&mut self, source: &ValueOrigin) -> Result<bool, ConfigError> {
        let Some(path) = source.path().map(Path::to_owned) else {
            return Ok(false);
        };
        let Some(text) = read(&path)? else {
            return Ok(false);
        };
        self.add(&path, &text, source);
        Ok(true)
    }

    /// Adds the project's own file, if it exists.
    fn add_project_file(&mut self, load: &Load<'_>) -> Result<(), ConfigError> {
        let path = load.project_file();
        // A file outside the project is not even read.
        let place = match place_of(load) {
            Err(error @ ConfigError::LeadsOut { .. }) => return Err(error),
            place => place,
        };
        let Some(text) = read(&path)? else {
            return Ok(());
        };
        // The digest is of the bytes that were read here. Another read could return others.
        let file = Brought::at(place?, text.as_bytes());
        self.add_brought(file, &path, &text, ValueOrigin::Project(path.clone()));
        Ok(())
    }

    /// Adds the file that the command line names, and says whether it exists.
    fn add_named(&mut self, named: NamedFile<'_>) -> Result<bool, ConfigError> {
        let path = named.path.to_owned();
        if named.author == Author::User {
            return self.add_file(&ValueOrigin::Explicit(path));
        }
        let Some(text) = read(&path)? else {
            return Ok(false);
        };
        let file = Brought::of(&path, text.as_bytes());
        // The project's own file has been read already, and one approval is enough for it.
        if self.project_files.iter().all(|(own, _)| *own != file) {
            self.add_brought(file, &path, &text, ValueOrigin::NamedInProject(path.clone()));
        }
        Ok(true)
    }

    fn add_brought(&mut self, file: Brought, path: &Path, text: &str, source: ValueOrigin) {
        self.add(path, text, &source);
        self.project_files.push((file, source));
    }

    fn add(&mut self, file: &Path, text: &str, source: &ValueOrigin) {
        self.problems.extend(parse_file::read_over(&mut self.with, file, text, source));
        if !source.is_projects() {
            // The problems are the same as above.
            drop(parse_file::read_over(&mut self.without, file, text, source));
        }
    }

    fn finish(mut self) -> Result<Config, ConfigError> {
        // A file with a problem was left out, and may define what seems to be missing.
        if !self.problems.is_empty() {
            return Err(ConfigError::Invalid { problems: self.problems });
        }
        let (profiles, problems) = self.with.finished_profiles();
        if !problems.is_empty() {
            return Err(ConfigError::Invalid { problems });
        }
        // A profile that is incomplete without the project's file counts as new.
        let (known, _) = self.without.finished_profiles();
        let Merged { resume, leaves_out_auto_resume, .. } = self.with;
        let bus = self.without.bus.clone();
        let (notify, pool) = (self.with.notify.clone(), self.with.pool.value.clone());
        let (webhooks, projects) = (self.with.webhooks.clone(), self.with.projects.clone());
        let window_keys = self.without.window_keys.clone();
        let (with_consent, before) = (Settings::of(self.with), Settings::of(self.without));
        let Settings { limits, gate_env, arbiter } = &with_consent;
        let brought = self.project_files.drain(..).map(|(file, source)| {
            let both = profiles.iter().map(|(name, now)| (known.get(name), now));
            let mut settings = needs_consent::of_limits(&before.limits, limits, &source);
            settings.extend(needs_consent::of_gates(&before.gate_env, gate_env, &source));
            settings.extend(needs_consent::of_arbiter(&before.arbiter, arbiter, &source));
            ProjectFile::of(file, &source, both, settings)
        });
        let project_files: Vec<_> = brought.collect();
        let mut without_consent = with_consent.clone();
        without_consent.limits = without_consent.limits.without_consent(&before.limits);
        without_consent.arbiter = before.arbiter;
        if project_files.iter().any(ProjectFile::lets_into_gates) {
            without_consent.gate_env = before.gate_env;
        }
        Ok(Config {
            profiles,
            without_consent,
            with_consent,
            pool,
            resume,
            bus,
            notify,
            webhooks,
            projects,
            window_keys,
            project_files,
            has_consent: false,
            leaves_out_auto_resume,
            plays_script: false,
        })
    }
}

impl Settings {
    fn of(merged: Merged) -> Self {
        Self { limits: merged.limits, gate_env: merged.gate_env, arbiter: merged.arbiter }
    }
}

/// Returns the real path of the project's own file, so that consent to it extends to no other project. Refuses a link to a file outside.
fn place_of(load: &Load<'_>) -> Result<PathBuf, ConfigError> {
    let path = load.project_file();
    let resolved = |path: &Path| {
        path.canonicalize()
            .map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })
    };
    let (project, real) = (resolved(load.project)?, resolved(&path)?);
    if !real.starts_with(&project) {
        return Err(ConfigError::LeadsOut { path, real });
    }
    let project = project.as_path();
    Ok(Load { project, ..*load }.project_file())
}

/// Returns the text of a file, or `None` if it does not exist.
fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    let path_buf = || path.to_owned();
    let unreadable = |source| ConfigError::Unreadable { path: path_buf(), source };
    // The type is checked before the file is opened, as opening a pipe would wait for its writer.
    let kind = match fs::metadata(path) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => {
            // No file mode keeps its kind from being seen, so it is a directory.
            let closed =
                closed_part(path).filter(|_| error.kind() == io::ErrorKind::PermissionDenied);
            return Err(match closed {
                Some(directory) => ConfigError::Closed { path: path_buf(), directory },
                None => unreadable(error),
            });
        }
    };
    if !kind.is_file() {
        let kind = if kind.is_dir() { "a directory" } else { "a pipe or a device" };
        return Err(ConfigError::NotAFile { path: path_buf(), kind });
    }
    let bytes = bounded_file::read(path, MAX_FILE_BYTES);
    let bytes = bytes.map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => {
            ConfigError::TooLarge { path: path_buf(), limit: MAX_FILE_BYTES }
        }
        _ => unreadable(error),
    })?;
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.split(|byte| *byte == b'\n').count();
        ConfigError::NotUtf8 { path: path_buf(), line }
    })
}

/// Says whether a file does not exist; a file in the place of a parent directory counts the same.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
/// Reads a text as the project's own file, over the built-in profiles.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn read_text(text: &str) -> Result<Config, ConfigError> {
    let mut layers = Layers::default();
    for file in builtin_profiles::FILES {
        layers.add(Path::new(file.file), file.text, &ValueOrigin::BuiltIn);
    }
    let path = PathBuf::from("bridge.toml");
    layers.add(&path, text, &ValueOrigin::Project(path.clone()));
    layers.finish()
}
