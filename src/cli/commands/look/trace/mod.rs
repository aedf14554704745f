//! `trace`: an exchange as a whole, as lines, as JSON, or as a diagram.

mod sequence_diagram;
mod show_trace;
mod trace_lines;

pub(crate) use self::show_trace::{TraceArguments, run};
