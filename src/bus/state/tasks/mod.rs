//! Tasks without their texts, and their progress.

mod task;
mod placement;
mod placed_tasks;
mod find_tasks;
mod assign_and_finish;

pub use self::placement::Placement;
pub use self::task::Task;
