//! The origin of a value, stored beside it.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::domain::text::shown_path::ShownPath as _;

/// The layer that a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueOrigin {
    /// The binary itself: a built-in profile, or a default.
    BuiltIn,
    /// The user's own configuration file.
    User(PathBuf),
    /// The project's own file.
    Project(PathBuf),
    /// The file that `--config` names.
    Explicit(PathBuf),
    /// A file that the project brings, and that `--config` names.
    NamedInProject(PathBuf),
}

impl ValueOrigin {
    /// Returns the file, unless the value is built in.
    pub fn path(&self) -> Option<&Path> {
        match self {
            ValueOrigin::BuiltIn => None,
            ValueOrigin::User(path)
            | ValueOrigin::Project(path)
            | ValueOrigin::Explicit(path)
            | ValueOrigin::NamedInProject(path) => Some(path),
        }
    }

    /// Says whether the project brings the layer, so that it is not the user's word.
    pub fn is_projects(&self) -> bool {
        matches!(self, ValueOrigin::Project(_) | ValueOrigin::NamedInProject(_))
    }
}

/// Names the layer in words that are safe for agents: without a path, except for the one that the user typed.
impl fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueOrigin::BuiltIn => f.write_str("the built-in profiles"),
            ValueOrigin::User(_) => f.write_str("the user's own `config.toml`"),
            ValueOrigin::Project(_) => {
                f.write_str("`bridge.toml` in the project's `.claude` folder")
            }
            ValueOrigin::Explicit(path) | ValueOrigin::NamedInProject(path) => {
                write!(f, "`{}`", path.shown())
            }
        }
    }
}

/// A value and the layer that set it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced<T> {
    pub value: T,
    /// The last layer that set it.
    pub source: ValueOrigin,
}

impl<T> Sourced<T> {
    /// Combines a value with the layer that set it.
    pub fn new(value: T, source: ValueOrigin) -> Self {
        Self { value, source }
    }

    /// Maps the value, and keeps its layer.
    pub(super) fn map<U>(self, make: impl FnOnce(T) -> U) -> Sourced<U> {
        Sourced::new(make(self.value), self.source)
    }

    /// Marks a value as a default of the binary.
    pub(crate) fn default_value(value: T) -> Self {
        Self::new(value, ValueOrigin::BuiltIn)
    }

    /// Says whether a file that the project brings set it.
    pub fn is_from_project(&self) -> bool {
        self.source.is_projects()
    }

    /// Says whether this file of the project set it.
    pub(super) fn is_from(&self, file: &ValueOrigin) -> bool {
        self.source == *file
    }
}
