//! The real Claude Code, which leads a team.

pub(crate) mod as_user;
pub(crate) mod is_notified;
pub(crate) mod leads_on;
pub(crate) mod shows_forms;
pub(crate) mod uses_plugin;
