//! Layers of configuration and the profiles of agents; each value knows its origin.
//!
//! Built-in profiles < the user's `config.toml` < the project's `.claude/bridge.toml` < the file that `--config` names. A later layer
//! changes only the fields that it names. Settings of a project's files that run programs or widen permissions wait for its user's
//! consent ([`crate::config::ProjectFile`]); a file that `--config` names may be one of them. Nothing in a file is ignored: unknown keys and invalid values are refused with file, line
//! and column, all problems at once.
//!
//! This module reads files and decides; it never looks at the process's own environment, never starts a process, and never writes.

mod defaults;
mod key;
mod value_origin;
mod error;
mod profile;
mod merged_layers;
pub(crate) mod toml_reader;
mod window_keys;
mod limits_section;
mod workflow_settings;
mod notify_section;
mod user_only;
mod parse_file;
mod needs_consent;
mod load_layers;

pub use self::defaults::key_tables;
pub use self::limits_section::Limits;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use self::load_layers::read_text;
pub use self::load_layers::{Author, Config, Load, NamedFile};
pub use self::needs_consent::{Brought, ProjectFile, quoted};
pub use self::notify_section::{Desktop, NotifySettings, QuietHours};
pub use self::profile::agent_env_filter::{EnvPattern, InvalidEnvPattern};
pub use self::user_only::{BusOfNew, ProjectTag, Webhook};
pub use self::value_origin::{Sourced, ValueOrigin};
pub use self::window_keys::{KeyAction, KeyPress, WindowKeys};
pub use self::workflow_settings::Resume;
pub use error::{ConfigError, Problem, UnknownProfile};
pub use profile::profile_choices::{Interrupt, MidTurn, Restart};
pub use profile::{Command, Profile};

#[cfg(test)]
mod tests;
