//! The read model as lines for people. Pure.

pub(super) mod rows_as_lines;
pub(super) mod status_lines;
pub(super) mod table;
pub(in crate::cli::commands) mod task_lines;
