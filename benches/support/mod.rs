//! Shared by the benchmarks: anchors, child processes, a bus to measure, samples, and the table.

pub(crate) mod anchor;
pub(crate) mod child_process;
pub(crate) mod project;
pub(crate) mod samples;
pub(crate) mod table;

/// The result of a benchmark: any error ends it, because a figure with an error in it means nothing.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;
