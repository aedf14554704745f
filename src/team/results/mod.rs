//! The results of a task: output, changed files, cost, and advice on errors.

pub(crate) mod changed_files;
pub(crate) mod collect;
pub(crate) mod error_advice;
pub(crate) mod failed_calls;
pub(crate) mod git_compare;
pub(crate) mod git_diff;
pub(crate) mod git_query;
pub(crate) mod git_snapshot;
pub(crate) mod read_output;
pub(crate) mod report;
pub(crate) mod session_cost;
pub(crate) mod wait_for_task;
