//! Tasks without their texts, and their progress.

mod task;
mod assign_and_finish;

pub use self::task::Task;
