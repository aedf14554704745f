//! Facts about processes, and signals to a group of them.
//!
//! Facts from `/proc` are exact on Linux. For other systems, each function documents its poorer answer.

pub mod ancestors;
pub mod cgroup;
mod child_state;
pub mod descendants;
mod find_program;
mod host_name;
pub mod kill_children;
pub mod memory_use;
pub mod pid_namespace;
mod proc_stat;
mod process_environment;
mod process_group;
mod process_identity;

pub use nix::sys::signal::Signal;

pub use self::child_state::{ChildState, kill_child, peek_child};
pub use self::find_program::{find_program, has_content, has_directory, is_executable};
pub use self::host_name::host_name;
pub use self::process_environment::{has_variable, marked, variable};
pub use self::process_group::{group_is_populated, group_members, signal_group};
pub use self::process_identity::{
    first_argument, is_suspended, own_pid, runs_this_file, runs_this_program, start_time,
};
