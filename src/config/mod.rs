//! Layers of configuration and the profiles of agents; each value knows its origin.
//!
//! Built-in profiles < the user's `config.toml` < the project's `.claude/bridge.toml` < the file that `--config` names. A later layer
//! changes only the fields that it names. Settings of the project's file that run programs or widen permissions wait for its user's
//! consent ([`crate::config::ProjectFile`]). Nothing in a file is ignored: unknown keys and invalid values are refused with file, line
//! and column, all problems at once.
//!
//! This module reads files and decides; it never looks at the process's own environment, never starts a process, and never writes.

mod defaults;
mod value_origin;
mod error;
mod agent_env_filter;
mod profile;
mod merged_layers;
pub(crate) mod toml_reader;
mod limits_section;
mod workflow_settings;
mod parse_file;
mod needs_consent;
mod load_layers;

pub use self::agent_env_filter::{EnvPattern, InvalidEnvPattern};
pub use self::defaults::key_tables;
pub use self::limits_section::Limits;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use self::load_layers::read_text;
pub use self::load_layers::{Config, Load};
pub use self::needs_consent::{Brought, ProjectFile, quoted};
pub use self::value_origin::{Sourced, ValueOrigin};
pub use self::workflow_settings::Resume;
pub use error::{ConfigError, Problem, UnknownProfile};
pub use profile::profile_choices::{MidTurn, Restart};
pub use profile::{Command, Profile};

#[cfg(test)]
mod tests;
