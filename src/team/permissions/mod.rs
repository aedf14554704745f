//! Permission questions of agents: judged by the policy, or put to the user or an orchestrator.

pub(crate) mod ask;
pub(crate) mod asks_orchestrator;
pub(crate) mod effective_policy;
pub(crate) mod file_access;
pub(crate) mod guarded_places;
pub(crate) mod look_at_paths;
pub(crate) mod open_questions;
pub(crate) mod put_on_bus;
pub(crate) mod shown_paths;
pub(crate) mod user_reachable;
