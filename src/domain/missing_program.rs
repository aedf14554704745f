//! The error for a program that is not installed: which profile needs it, where the bridge looked, and how to get it.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;

use super::name::Name;

use crate::domain::text::shown_path::ShownPath as _;

/// A program that is not installed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct MissingProgram {
    /// The profile that needs it, if one does.
    pub profile: Option<Name>,
    /// A bare name, or a path.
    pub program: String,
    /// Where the bridge looked for it.
    pub searched: Searched,
    /// The command that installs it, if known.
    pub install: Option<String>,
    /// The alternative to installing it, as in "correct the path".
    pub instead: String,
}

/// The places where a program was not found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Searched {
    /// In the directories of this process's `PATH`.
    OnPath,
    /// In the directories of another `PATH`.
    OnPathOf(OsString),
    /// At its own path, where there is no file.
    AtItsPath,
    /// At its own path, where there is no executable file.
    AsExecutable,
}

impl fmt::Display for MissingProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { profile, program, searched, install, instead } = self;
        match profile {
            Some(profile) => {
                write!(
                    f,
                    "the profile `{profile}` needs the program `{program}`, which {searched}"
                )?;
            }
            None => write!(f, "the program `{program}` {searched}")?,
        }
        f.write_str(": install it")?;
        if let Some(command) = install {
            write!(f, " with `{command}`")?;
        }
        write!(f, ", or {instead}")
    }
}

impl fmt::Display for Searched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnPath => f.write_str("is not on PATH"),
            Self::OnPathOf(path) => write!(f, "is not on PATH (`{}`)", Path::new(path).shown()),
            Self::AtItsPath => f.write_str("does not exist"),
            Self::AsExecutable => f.write_str("does not exist or is not executable"),
        }
    }
}
