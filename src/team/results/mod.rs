//! What came of a task: output, changed files, cost, and advice on errors.

pub(crate) mod collect;
pub(crate) mod error_advice;
pub(crate) mod git_compare;
pub(crate) mod git_query;
pub(crate) mod read_output;
