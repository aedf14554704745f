//! A bridge with a real agent over a failing bus: nothing is lost, and nothing happens twice.

pub(crate) mod each_write;
pub(crate) mod random_faults;
