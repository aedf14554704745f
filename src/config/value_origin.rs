//! Where a value came from, kept beside the value.

use std::fmt;
use std::path::{Path, PathBuf};

/// The layer that a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The binary itself: a built-in profile, or a default.
    BuiltIn,
    /// The user's own configuration file.
    User(PathBuf),
    /// The file that the project brings along.
    Project(PathBuf),
    /// The file that `--config` names.
    Explicit(PathBuf),
}

impl Source {
    /// Returns the file, unless the value is built in.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Source::BuiltIn => None,
            Source::User(path) | Source::Project(path) | Source::Explicit(path) => Some(path),
        }
    }
}

/// Names the layer in words that an agent may be told too: without a path, but for the one the user typed.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::BuiltIn => f.write_str("the built-in profiles"),
            Source::User(_) => f.write_str("the user's own `config.toml`"),
            Source::Project(_) => f.write_str("`bridge.toml` in the project's `.claude` folder"),
            Source::Explicit(path) => write!(f, "`{}`", path.display()),
        }
    }
}

/// A value and the layer that set it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// The last layer that set it.
    pub source: Source,
}

impl<T> Sourced<T> {
    /// Joins a value with the layer that set it.
    pub fn new(value: T, source: Source) -> Self {
        Self { value, source }
    }

    /// Marks a value as the binary's own default.
    pub(crate) fn default_value(value: T) -> Self {
        Self::new(value, Source::BuiltIn)
    }

    /// Tells whether the project's own file set it.
    pub fn is_from_project(&self) -> bool {
        matches!(self.source, Source::Project(_))
    }
}
