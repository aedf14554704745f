//! Files and directories: durable writes, locks, and paths that cannot lead outside.

pub mod bounded_file;
pub mod contained_dir;
pub mod disk;
pub mod file_lock;
pub mod forget_deleted;
pub mod git_worktrees;
pub mod kept_attributes;
pub mod network_fs;
pub mod open_parents;
pub mod project;
pub mod real_path;
pub mod rights_of_others;
pub mod temporary_file;
pub mod user_state_dir;
