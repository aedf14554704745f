//! What a repository or an agent may not do: project files without a yes, and leading from below an agent.

pub(crate) mod below_an_agent;
pub(crate) mod project_files;
pub(crate) mod unreadable_trust;
pub(crate) mod worktrees;
