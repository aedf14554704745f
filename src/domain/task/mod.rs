//! Tasks: work assigned to an agent, its status, and its error.

pub mod error_class;
pub mod result;
pub mod retry_time;
mod task_error;
mod task_status;

pub use self::task_error::TaskError;
pub use self::task_status::TaskStatus;
