//! The servers from a client's point of view: in one process, over pipes in memory, on a log in memory.

mod fixture;
mod guard;
mod identity;
mod lines;
mod lists;
mod messages;
mod opening;
mod receipts;
mod requests;
mod task_lists;
mod tools;
mod unreadable;
mod waiting;
mod wrong_calls;
