//! Teams on several machines: projects with a mirror each, and a server between them.

mod claim_history;
mod copied_team;
#[cfg(target_os = "linux")]
mod cut_off_machine;
#[cfg(target_os = "linux")]
mod random_faults;
mod hosted_steps;
mod other_host;
mod shared_demo;
mod two_machines;
#[cfg(target_os = "linux")]
mod wrong_clocks;
