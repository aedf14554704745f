//! The errors of a configuration, with their place and a hint.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::domain::text::listed::listed as in_a_sentence;
use crate::domain::text::shown_path::ShownPath as _;

/// The longest part of a foreign word that an error repeats, in characters: a whole name fits, a pasted file does not.
const SHOWN_CHARACTERS: usize = 64;

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file that `--config` names does not exist.
    #[error("the configuration file `{}` does not exist: correct --config or leave it out", path.shown())]
    Missing {
        /// The path as it was given.
        path: PathBuf,
    },
    /// There is a directory, a pipe or a device where a file should be.
    #[error("`{}` is {kind}, not a configuration file: name a regular TOML file", path.shown())]
    NotAFile {
        /// The path of the directory, pipe or device.
        path: PathBuf,
        /// Its type, with an article.
        kind: &'static str,
    },
    /// The project's own file, or its directory, is a link that leads out of the project.
    #[error(
        "`{}` is a link that leads out of the project, to `{}`, and is not read: remove it, or name the file with --config if it is yours",
        path.shown(), real.shown()
    )]
    LeadsOut {
        /// The path in the project.
        path: PathBuf,
        /// The target of the link.
        real: PathBuf,
    },
    /// The file is larger than any configuration.
    #[error(
        "`{}` is larger than {limit} bytes, the limit for a configuration file: it is probably \
         another kind of file", path.shown()
    )]
    TooLarge {
        /// The path of the file.
        path: PathBuf,
        /// The most bytes a configuration file may have.
        limit: u64,
    },
    /// The file is not text.
    #[error("{}:{line}: this line is not valid UTF-8: save the file as UTF-8", path.shown())]
    NotUtf8 {
        /// The path of the file.
        path: PathBuf,
        /// The first line, from 1, that is not UTF-8.
        line: usize,
    },
    /// The system does not allow reading the file.
    #[error("cannot read the configuration file `{}`: {source}", path.shown())]
    Unreadable {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A directory on the way to the file is closed to this user.
    #[error(
        "cannot read the configuration file `{}`: you may not look into the directory `{}`; open it for yourself (`chmod u+rwx`, or `chown` if \
         it is not yours)",
        path.shown(), directory.shown()
    )]
    Closed {
        /// The path of the file.
        path: PathBuf,
        /// The outermost such directory.
        directory: PathBuf,
    },
    /// One or several files have invalid content; one line per problem.
    #[error("{}", lines(problems))]
    Invalid {
        /// All problems, layer by layer, in the order of their lines; never empty.
        problems: Vec<Problem>,
    },
}

impl ConfigError {
    /// Returns the file at fault, with the line and the column of the first problem where they are known: nothing that stands in it.
    pub fn place(&self) -> String {
        match self {
            Self::Missing { path }
            | Self::NotAFile { path, .. }
            | Self::LeadsOut { path, .. }
            | Self::TooLarge { path, .. }
            | Self::Closed { path, .. }
            | Self::Unreadable { path, .. } => path.shown().to_string(),
            Self::NotUtf8 { path, line } => format!("{}:{line}", path.shown()),
            Self::Invalid { problems } => problems.first().map(Problem::place).unwrap_or_default(),
        }
    }
}

/// A problem and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The problem and its remedy.
    pub message: String,
}

impl Problem {
    fn place(&self) -> String {
        let Self { file, line, column, .. } = self;
        format!("{}:{line}:{column}", file.shown())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place(), self.message)
    }
}

/// A profile that is not defined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no profile `{}`: {}", shown(name), hint(nearest, known, "the profiles are"))]
pub struct UnknownProfile {
    /// The requested name.
    pub name: String,
    /// Similar names, nearest first.
    pub nearest: Vec<String>,
    /// All defined names, in alphabetical order.
    pub known: Vec<String>,
}

/// Returns a hint for an unknown word: the nearest known ones, else all of them after `introduction`.
pub(super) fn hint(nearest: &[String], known: &[impl AsRef<str>], introduction: &str) -> String {
    if nearest.is_empty() {
        format!("{introduction} {}", listed(known, "and"))
    } else {
        format!("did you mean {}?", listed(nearest, "or"))
    }
}

/// Returns "`a`, `b` or `c`".
pub(super) fn listed(words: &[impl AsRef<str>], conjunction: &str) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{}`", word.as_ref())).collect();
    in_a_sentence(&quoted, conjunction)
}

/// Returns a foreign word for an error: on one line, and cut if it is long.
pub(super) fn shown(word: &str) -> String {
    let mut shown: String =
        word.chars().take(SHOWN_CHARACTERS).flat_map(char::escape_debug).collect();
    if word.chars().nth(SHOWN_CHARACTERS).is_some() {
        shown.push('…');
    }
    shown
}

fn lines(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}
