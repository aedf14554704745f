//! The command line: arguments, the only printer, one file per command.
//!
//! In the modes that speak MCP, stdout carries only the protocol; text for people goes to stderr.

mod below_agent;
mod claude_session;
mod command_line;
pub(crate) mod commands;
mod failure;
mod find_project;
mod hidden_agents;
mod how_to_watch;
mod lead_team;
mod load_config;
mod logging;
mod open_bus;
mod output;
mod serve_endpoint;
mod serve_mcp;
mod signal_policy;
mod steer;

pub use self::command_line::run;
pub(crate) use self::failure::{Failure, with_hint, words_and_hint};
