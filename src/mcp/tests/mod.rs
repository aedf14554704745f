//! The servers from a client's point of view: in one process, over pipes in memory, on a log in memory.

mod fixture;
mod guard;
mod identity;
mod lines;
mod lists;
mod messaging;
mod opening;
mod requests;
mod task_lists;
mod tools;
mod unreadable;
mod wrong_calls;
