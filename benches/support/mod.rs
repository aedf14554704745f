//! What the benchmarks share: anchors, other processes, a bus to measure on, samples, and the table.

pub(crate) mod anchor;
pub(crate) mod child_process;
pub(crate) mod project;
pub(crate) mod samples;
pub(crate) mod table;

/// What a benchmark returns: it ends at the first thing that goes wrong, because a figure with an error in it is none.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;
