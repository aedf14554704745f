//! What the library promises at its boundary: the architecture of its sources, and the bus over every log there is; and what
//! the program promises: teams of real processes, led over MCP.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and tells the seed of what it did"
)]

mod agent_messaging;
mod agent_registry;
mod architecture;
mod bad_input;
mod below;
mod e2e_messaging;
mod faults;
mod faults_model;
mod health;
#[cfg(target_os = "linux")]
mod hook;
mod hung;
mod kills;
mod ladder;
mod lifecycle;
mod logs;
mod message_bus;
mod permissions;
mod place;
mod proof;
mod request_claim;
mod results;
mod returning;
mod rules;
mod secrets;
#[cfg(target_os = "linux")]
mod stopping;
#[cfg(target_os = "linux")]
mod supervision;
mod stuck;
mod support;
mod tasks;
mod trust;
mod trust_absent;
mod unreadable;
#[cfg(target_os = "linux")]
mod watch;
mod workflow_goes_on;
mod workflow_limit;
mod workflow_lists;
mod workflow_resume;
mod workflow_run;
mod workflow_tree;
mod workflows;
mod worktrees;
