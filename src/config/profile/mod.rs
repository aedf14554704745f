//! A profile: how to start one kind of agent, all its layers merged.

mod agent_command;
mod agent_profile;
pub(super) mod agent_env_filter;
pub(super) mod builtin_profiles;
mod find_agent_program;
pub(super) mod profile_choices;
mod project_fields;

pub use self::agent_command::Command;
pub use self::agent_profile::Profile;
