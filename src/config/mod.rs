//! Layers of configuration and the profiles of agents; each value knows where it came from.
//!
//! Built-in profiles < the user's `config.toml` < the project's `.claude/bridge.toml` < the file that `--config` names.
//! A later layer changes only the fields it names. What the project's file would run or widen waits for its user's yes
//! ([`crate::config::ProjectFile`]). Nothing in a file is ignored: what is not known or does not fit is
//! refused with its file, line and column, all problems at once.
//!
//! This module reads files and decides; it never looks at the process's own environment, never starts anything, and
//! never writes.

mod source;
mod error;
mod environment;
mod profile;
mod draft;
pub(crate) mod reader;
mod limits;
mod workflows;
mod document;
mod builtin;
mod brought;
mod load;

pub use brought::{Brought, ProjectFile, quoted};
pub use environment::{EnvPattern, InvalidEnvPattern};
pub use error::{ConfigError, Problem, UnknownProfile};
pub use limits::Limits;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use load::read_text;
pub use load::{Config, Load};
pub use profile::{Command, MidTurn, MissingProgram, Profile, Restart};
pub use source::{Source, Sourced};
pub use workflows::Resume;

#[cfg(test)]
mod tests;
