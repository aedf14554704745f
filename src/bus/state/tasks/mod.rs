//! Tasks without their texts, and their progress.

mod task;
mod find_tasks;
mod assign_and_finish;

pub use self::task::Task;
