//! Assigning work: the candidates, the choice among them, and room for a new agent.

pub(crate) mod assign_task;
pub(crate) mod on_host;
mod by_role;
pub(crate) mod candidates;
pub(crate) mod free_a_slot;
pub(crate) mod installed_profiles;
pub(crate) mod launch_source;
pub(crate) mod resume_agent;
pub(crate) mod role_word;
pub(crate) mod start_new_agent;
pub(crate) mod try_agent;
mod unknown_agent;
