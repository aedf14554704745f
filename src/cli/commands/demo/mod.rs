//! `demo`: a team of scripted agents at work in a temporary project, narrated on the terminal.
//!
//! Nothing is faked: the demo starts this binary as an orchestrator, calls its tools over MCP as any client does, and afterwards
//! counts the events in the log. With `--bus postgres` it is a team on two machines, with a server of the demo's own.

mod closing_lines;
mod demo_project;
mod play_demo;
mod story;
mod talk;
mod teller;
mod throw_away_server;
mod shared_demo;

pub(crate) use self::play_demo::{DemoArguments, run};
