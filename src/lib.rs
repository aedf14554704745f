//! The bridge between coding agents: a durable bus, the supervision of agents, and the MCP tools that lead a team of them.
//!
//! The modules are in reading order, which is also dependency order: a module imports only from those above it
//! (`tests/it/architecture/` enforces this).

/// Values and rules: names, ids, messages, requests, tasks, limits. Pure.
pub mod domain;
/// The only doors to the outside: clocks, ids, files, processes, signals.
pub mod sys;
/// Layers of configuration and the profiles of agents.
pub mod config;
/// The log of events, the state that follows from it, and the handle that all other modules use.
pub mod bus;
/// The read model: what stands on a bus and what has happened, as people look at it. Pure.
pub mod view;
/// Search: which words stand where in the history of a bus, in an index that is a cache.
pub mod search;
/// One child process each: spawn, watch, stop.
pub mod supervisor;
/// One agent connection over given pipes (Agent Client Protocol).
pub mod acp;
/// Delivery: by which method a message reaches a model, and in what words.
pub mod delivery;
/// Live agents: start, prove the tools, assign, wake, stop.
pub mod team;
/// Workflows: plans, the engine that decides the next actions, and the runner that performs them.
pub mod workflow;
/// Notifications for a user who looks at no window: what is worth one, when, and where to.
pub mod alerts;
/// The courier: takes messages to the buses of other projects, and their receipts back.
pub mod courier;
/// The MCP servers: the orchestrator's and the endpoint's tools.
pub mod mcp;
/// The scripted agent: for demos, tests, and trying teams out without a model.
pub mod scripted;
/// Setup: which clients and agents are installed, and the entries that connect the clients, written and undone.
pub mod setup;
/// The doctor: whether everything that a team needs is there and works, and what to do where it is not.
pub mod doctor;
/// The read model of a bus on disk, for all windows.
pub mod reader;
/// The local web server: pages, their live changes, and the API.
pub mod web;
/// Arguments, the only printer, one file per command.
pub mod cli;
/// One function for each reader of outside data, for `fuzz/` and the test that runs the same.
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzz;
