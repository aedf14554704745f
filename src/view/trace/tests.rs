//! Traces of logs that are made up.
