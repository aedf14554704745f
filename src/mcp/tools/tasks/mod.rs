//! Tools that assign tasks to agents and follow them.

pub(crate) mod assign_task;
pub(crate) mod cancel_task;
pub(crate) mod get_task_result;
pub(crate) mod get_task_status;
pub(crate) mod task_cursor;
