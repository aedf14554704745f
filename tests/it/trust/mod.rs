//! Limits of a repository and of an agent: project files need approval, and processes below an agent cannot lead.

pub(crate) mod below_an_agent;
pub(crate) mod gates_of_plans;
pub(crate) mod named_files;
pub(crate) mod project_files;
pub(crate) mod unreadable_trust;
pub(crate) mod worktrees;
