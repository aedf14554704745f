//! Tests at two boundaries: the library's (the architecture of its sources, and the bus over every kind of log), and the
//! program's (teams of real processes, led over MCP).

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints the seed of its random choices"
)]

pub(crate) mod agents;
pub(crate) mod alerts;
mod architecture;
pub(crate) mod bus;
pub(crate) mod commands;
mod documents;
pub(crate) mod ending;
mod history;
mod hosts;
pub(crate) mod install;
pub(crate) mod steer;
mod stories;
mod support;
pub(crate) mod trust;
pub(crate) mod windows;
pub(crate) mod web;
pub(crate) mod workflows;
