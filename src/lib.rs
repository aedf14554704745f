//! The bridge between coding agents: a durable bus, the supervision of agents, and the MCP tools that lead a team of them.
//!
//! The modules stand in reading order, which is also dependency order: a module imports only from those above it
//! (`tests/it/architecture/` holds this).

/// Values and rules: names, ids, messages, requests, tasks, limits. Pure.
pub mod domain;
/// The only doors to the outside: clocks, ids, files, processes, signals.
pub mod sys;
/// Layers of configuration and the profiles of agents.
pub mod config;
/// The log of events, the state that follows from it, and the handle that everyone uses.
pub mod bus;
/// One child process each: spawn, watch, stop.
pub mod supervisor;
/// One agent connection over given pipes (Agent Client Protocol).
pub mod acp;
/// Delivery: by which method a message reaches a model, and in what words.
pub mod delivery;
/// Live agents: start, prove the tools, assign, wake, stop.
pub mod team;
/// Workflows: plans, the engine that says what happens next, and the runner that does it.
pub mod workflow;
/// The MCP servers: the orchestrator's and the endpoint's tools.
pub mod mcp;
/// The scripted agent: for demos, tests, and trying teams out without a model.
pub mod scripted;
/// Setup: which clients and agents are installed, and the entries that connect the clients, written and undone.
pub mod setup;
/// The doctor: whether everything that a team needs is there and works, and what to do where it is not.
pub mod doctor;
/// Arguments, the only printer, one file a command.
pub mod cli;
/// One function for each reader of what others write, for `fuzz/` and the test that runs the same.
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzz;
