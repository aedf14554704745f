//! What the library promises at its boundary: the architecture of its sources, and the bus over every log there is; and what
//! the program promises: teams of real processes, led over MCP.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and tells the seed of what it did"
)]

pub(crate) mod agents;
mod architecture;
pub(crate) mod bus;
pub(crate) mod commands;
pub(crate) mod ending;
pub(crate) mod install;
mod support;
pub(crate) mod trust;
pub(crate) mod workflows;
