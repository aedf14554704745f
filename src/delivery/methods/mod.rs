//! One file a delivery method: how messages are put to a model, and in what words.

pub mod before_task;
pub mod claude_hook;
pub mod drain;
pub mod interrupt;
pub mod steer;
pub mod wake_idle;
