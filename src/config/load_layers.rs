//! The layers: which files there are, how one is read, and what follows from all of them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::agent_env_filter::{self, EnvPattern};
use super::error::{ConfigError, Problem, UnknownProfile};
use super::limits_section::Limits;
use super::merged_layers::Merged;
use super::needs_consent::{self, Brought, ProjectFile};
use super::parse_file;
use super::profile::Profile;
use super::profile::builtin_profiles;
use super::value_origin::{Sourced, ValueOrigin};
use super::workflow_settings::Resume;
use crate::domain::name::Name;
use crate::domain::text::suggest::nearest;
use crate::sys::fs::bounded_file;

/// The most bytes of a configuration file: nobody writes as many by hand, so a larger one is a mistake.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Where to look for configuration.
#[derive(Debug, Clone, Copy)]
pub struct Load<'a> {
    /// The directory of the project.
    pub project: &'a Path,
    /// The user's home directory: `HOME`.
    pub home: Option<&'a Path>,
    /// The user's directory of configuration: `XDG_CONFIG_HOME`. One that is not absolute does not count, as the XDG
    /// Base Directory Specification says; then it is `.config` in the home directory.
    pub config_home: Option<&'a Path>,
    /// The file that `--config` names; it must exist.
    pub explicit: Option<&'a Path>,
}

/// All layers, merged.
#[derive(Debug, Clone)]
pub struct Config {
    /// As they would be with all that the project's file says; none that needs a yes is started without.
    profiles: BTreeMap<Name, Profile>,
    /// What holds as long as the project's file is not agreed to.
    guarded: Settings,
    /// What holds once it is.
    agreed: Settings,
    resume: Resume,
    project_file: Option<ProjectFile>,
    is_agreed: bool,
    leaves_out_auto_resume: bool,
}

/// What a configuration says apart from profiles.
#[derive(Debug, Clone)]
struct Settings {
    limits: Limits,
    gate_env: Sourced<Vec<EnvPattern>>,
}

impl Load<'_> {
    /// Returns the path of the user's own file, whether it is there or not.
    pub fn user_file(&self) -> Option<PathBuf> {
        let given =
            self.config_home.filter(|directory| directory.is_absolute()).map(Path::to_owned);
        let directory = given.or_else(|| self.home.map(|home| home.join(".config")))?;
        Some(directory.join("cli-team-bridge").join("config.toml"))
    }

    /// Returns the path of the project's own file, whether it is there or not.
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
        if let Some(path) = load.explicit
            && !layers.add_file(&ValueOrigin::Explicit(path.to_owned()))?
        {
            return Err(ConfigError::Missing { path: path.to_owned() });
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

    /// Lets the scripted agent play profiles of these names, whatever they were, from a script.
    pub fn play(
        &mut self,
        names: impl IntoIterator<Item = Name>,
        script: &Path,
    ) -> Result<(), UnknownProfile> {
        let scripted = self.profile("scripted")?.clone();
        for name in names {
            if let Some(file) = &mut self.project_file {
                file.plays(&name, &scripted.name);
            }
            let mut profile = scripted.clone();
            profile.name = name.clone();
            let script = script.to_string_lossy().into_owned();
            profile.args.value.extend(["--script".to_owned(), script]);
            self.profiles.insert(name, profile);
        }
        Ok(())
    }

    /// Returns what becomes of interrupted workflows.
    pub fn resume(&self) -> Resume {
        self.resume
    }

    /// Returns the limits.
    pub fn limits(&self) -> &Limits {
        &self.settings().limits
    }

    /// Returns the whole environment of a gate, made from `own`, the environment of this process. What the project's file lets
    /// through counts only while the yes that was noted holds, which `holds` tells: it may have been taken back since.
    pub fn gate_environment(
        &self,
        own: impl Iterator<Item = (OsString, OsString)>,
        holds: impl FnOnce(&Brought) -> bool,
    ) -> Vec<(OsString, OsString)> {
        let file = self.project_file.as_ref();
        let settings = match file.filter(|_| self.is_agreed) {
            Some(file) if !holds(&file.file) => &self.guarded,
            _ => self.settings(),
        };
        agent_env_filter::filter(own, &settings.gate_env.value, std::iter::empty())
    }

    /// Returns the project's own file, if it lets anything into gates by a yes that was noted.
    pub fn lets_into_gates(&self) -> Option<&Brought> {
        let file = self.project_file.as_ref().filter(|_| self.is_agreed)?;
        let lets_more = self.agreed.gate_env.value != self.guarded.gate_env.value;
        lets_more.then_some(&file.file)
    }

    /// Returns the project's own file, if anything of it needs its user's yes, and nobody has noted one.
    pub fn unagreed(&self) -> Option<&ProjectFile> {
        let file = self.project_file.as_ref();
        file.filter(|file| !self.is_agreed && file.needs_yes())
    }

    /// Returns the project's own file, if there is one.
    pub fn project_file(&self) -> Option<&ProjectFile> {
        self.project_file.as_ref()
    }

    /// Says whether the project's file wants interrupted workflows to go on by themselves, which never counts.
    pub fn leaves_out_auto_resume(&self) -> bool {
        self.leaves_out_auto_resume
    }

    /// Notes that the user has said yes to the project's file as it was read.
    pub fn agree(&mut self) {
        self.is_agreed = true;
    }

    fn settings(&self) -> &Settings {
        if self.is_agreed { &self.agreed } else { &self.guarded }
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
    /// All but the project's own file, for what holds until the user has said yes to that.
    without: Merged,
    project_file: Option<Brought>,
    problems: Vec<Problem>,
}

impl Layers {
    /// Adds a file; tells whether it is there.
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

    /// Adds the project's own file, if it is there.
    fn add_project_file(&mut self, load: &Load<'_>) -> Result<(), ConfigError> {
        let path = load.project_file();
        // What leads out of the project is not even read.
        let place = match place_of(load) {
            Err(error @ ConfigError::LeadsOut { .. }) => return Err(error),
            place => place,
        };
        let Some(text) = read(&path)? else {
            return Ok(());
        };
        // Of the bytes that are read here, and never looked for again: they could be others by then.
        self.project_file = Some(Brought::at(place?, text.as_bytes()));
        self.add(&path, &text, &ValueOrigin::Project(path.clone()));
        Ok(())
    }

    fn add(&mut self, file: &Path, text: &str, source: &ValueOrigin) {
        self.problems.extend(parse_file::read_over(&mut self.with, file, text, source));
        if !matches!(source, ValueOrigin::Project(_)) {
            // The same problems once more.
            drop(parse_file::read_over(&mut self.without, file, text, source));
        }
    }

    fn finish(mut self) -> Result<Config, ConfigError> {
        // A file with a problem was left out, so what seems to be missing may stand there.
        if !self.problems.is_empty() {
            return Err(ConfigError::Invalid { problems: self.problems });
        }
        let (profiles, problems) = self.with.finished_profiles();
        if !problems.is_empty() {
            return Err(ConfigError::Invalid { problems });
        }
        // What is no whole profile without the project's file is all new by it.
        let (known, _) = self.without.finished_profiles();
        let Merged { resume, leaves_out_auto_resume, .. } = self.with;
        let (agreed, before) = (Settings::of(self.with), Settings::of(self.without));
        let project_file = self.project_file.take().map(|file| {
            let both = profiles.iter().map(|(name, now)| (known.get(name), now));
            let mut settings = needs_consent::of_limits(&before.limits, &agreed.limits);
            settings.extend(needs_consent::of_gates(&before.gate_env, &agreed.gate_env));
            ProjectFile::of(file, both, settings)
        });
        let mut guarded = agreed.clone();
        guarded.limits = guarded.limits.guarded_by(&before.limits);
        if needs_consent::of_gates(&before.gate_env, &guarded.gate_env).is_some() {
            guarded.gate_env = before.gate_env;
        }
        Ok(Config {
            profiles,
            guarded,
            agreed,
            resume,
            project_file,
            is_agreed: false,
            leaves_out_auto_resume,
        })
    }
}

impl Settings {
    fn of(merged: Merged) -> Self {
        Self { limits: merged.limits, gate_env: merged.gate_env }
    }
}

/// Returns the one place of the project's own file: what is said of it is said of no other project's. A file that is really
/// another's is refused.
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

/// Returns the text of a file, or nothing when it is not there.
fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    let path_buf = || path.to_owned();
    let unreadable = |source| ConfigError::Unreadable { path: path_buf(), source };
    // Looked at before it is opened: to open a pipe would wait for its writer.
    let kind = match fs::metadata(path) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(unreadable(error)),
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

/// Tells whether nothing is there; a file in the place of a parent directory comes to the same.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
/// Reads a text as the project's own file, over the profiles that the binary brings along.
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
