//! Tasks without their texts, and how far each has come.

mod task;
mod assign_and_finish;

pub use self::task::Task;
