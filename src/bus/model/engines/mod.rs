//! What the model runs on: a log in memory, or one whose order a real server keeps. Each has several processes, and a clock that the
//! model moves.

mod engine;
mod memory_engine;
mod server_engine;

pub(super) use self::engine::{Engine, Process};
pub(super) use self::memory_engine::MemoryEngine;
pub(super) use self::server_engine::ServerEngine;
