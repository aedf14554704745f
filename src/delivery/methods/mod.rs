//! One file per delivery method: its messages and its words.

pub mod before_task;
pub mod between_steps;
pub mod channel;
pub mod drain;
pub mod interrupt;
pub mod steer;
pub mod wake_idle;
