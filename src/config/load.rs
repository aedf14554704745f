//! The layers: which files there are, how one is read, and what follows from all of them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::builtin;
use super::document::{self, Layer};
use super::draft::Draft;
use super::error::{ConfigError, Problem, UnknownProfile};
use super::limits::Limits;
use super::profile::Profile;
use super::source::Source;
use super::workflows::Resume;
use crate::domain::name::Name;
use crate::domain::nearest::nearest;

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
    profiles: BTreeMap<Name, Profile>,
    limits: Limits,
    resume: Resume,
}

impl Load<'_> {
    /// Returns the path of the user's own file, whether it is there or not.
    pub fn user_file(&self) -> Option<PathBuf> {
        let given = self
            .config_home
            .filter(|directory| directory.is_absolute())
            .map(Path::to_owned);
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
        for built_in in builtin::FILES {
            layers.add(Path::new(built_in.file), built_in.text, &Source::BuiltIn);
        }
        let own = load.user_file().map(Source::User);
        for source in own
            .into_iter()
            .chain([Source::Project(load.project_file())])
        {
            layers.add_file(&source)?;
        }
        if let Some(path) = load.explicit
            && !layers.add_file(&Source::Explicit(path.to_owned()))?
        {
            return Err(ConfigError::Missing {
                path: path.to_owned(),
            });
        }
        layers.finish()
    }

    /// Returns the profile of that name; case does not count.
    pub fn profile(&self, name: &str) -> Result<&Profile, UnknownProfile> {
        let found = Name::parse(name)
            .ok()
            .and_then(|name| self.profiles.get(&name));
        found.ok_or_else(|| {
            let known: Vec<String> = self.profiles.keys().map(Name::to_string).collect();
            UnknownProfile {
                name: name.to_owned(),
                nearest: nearest(name, &known),
                known,
            }
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
        &self.limits
    }

    /// Returns all profiles in alphabetical order.
    pub fn profiles(&self) -> impl Iterator<Item = &Profile> {
        self.profiles.values()
    }
}

/// The layers read so far, laid over each other.
#[derive(Default)]
struct Layers {
    drafts: BTreeMap<Name, Draft>,
    limits: Limits,
    resume: Resume,
    problems: Vec<Problem>,
}

impl Layers {
    /// Lays a file over the others; tells whether it is there.
    fn add_file(&mut self, source: &Source) -> Result<bool, ConfigError> {
        let Some(path) = source.path() else {
            return Ok(false);
        };
        let Some(text) = read(path)? else {
            return Ok(false);
        };
        self.add(path, &text, source);
        Ok(true)
    }

    fn add(&mut self, file: &Path, text: &str, source: &Source) {
        match document::parse(file, text, source) {
            Ok(layer) => self.overlay(layer),
            Err(problems) => self.problems.extend(problems),
        }
    }

    fn overlay(&mut self, layer: Layer) {
        layer.limits.apply(&mut self.limits);
        self.resume = layer.resume.unwrap_or(self.resume);
        for draft in layer.profiles {
            match self.drafts.get_mut(&draft.name) {
                Some(earlier) => earlier.overlay(draft),
                None => {
                    self.drafts.insert(draft.name.clone(), draft);
                }
            }
        }
    }

    fn finish(mut self) -> Result<Config, ConfigError> {
        // A file with a problem was left out, so what seems to be missing may stand there.
        if !self.problems.is_empty() {
            return Err(ConfigError::Invalid {
                problems: self.problems,
            });
        }
        let names: Vec<Name> = self.drafts.keys().cloned().collect();
        let mut profiles = BTreeMap::new();
        for (name, draft) in self.drafts {
            match draft.finish(&names) {
                Ok(profile) => drop(profiles.insert(name, profile)),
                Err(problem) => self.problems.push(problem),
            }
        }
        if !self.problems.is_empty() {
            return Err(ConfigError::Invalid {
                problems: self.problems,
            });
        }
        Ok(Config {
            profiles,
            limits: self.limits,
            resume: self.resume,
        })
    }
}

/// Returns the text of a file, or nothing when it is not there.
fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    let path_buf = || path.to_owned();
    let unreadable = |source| ConfigError::Unreadable {
        path: path_buf(),
        source,
    };
    // Looked at before it is opened: to open a pipe would wait for its writer.
    let kind = match fs::metadata(path) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    if !kind.is_file() {
        let kind = if kind.is_dir() {
            "a directory"
        } else {
            "a pipe or a device"
        };
        return Err(ConfigError::NotAFile {
            path: path_buf(),
            kind,
        });
    }
    let mut bytes = Vec::new();
    // One byte above the limit tells that there is more; the size of the metadata may be outdated by now.
    let mut limited = File::open(path)
        .map_err(unreadable)?
        .take(MAX_FILE_BYTES + 1);
    limited.read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(ConfigError::TooLarge {
            path: path_buf(),
            limit: MAX_FILE_BYTES,
        });
    }
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.split(|byte| *byte == b'\n').count();
        ConfigError::NotUtf8 {
            path: path_buf(),
            line,
        }
    })
}

/// Tells whether nothing is there; a file in the place of a parent directory comes to the same.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
/// Reads a text as the project's own file, over the profiles that the binary brings along.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn read_text(text: &str) -> Result<Config, ConfigError> {
    let mut layers = Layers::default();
    for file in builtin::FILES {
        layers.add(Path::new(file.file), file.text, &Source::BuiltIn);
    }
    let path = PathBuf::from("bridge.toml");
    layers.add(&path, text, &Source::Project(path.clone()));
    layers.finish()
}
