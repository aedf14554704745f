//! A bridge whose bus fails, with a real agent on it: nothing is lost, and all happens once.

pub(crate) mod each_write;
pub(crate) mod random_faults;
