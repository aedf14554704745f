//! Processes that outlive the shim or the bridge which should have ended them, and how they are found and killed.

pub(crate) mod adopted_orphans;
pub(crate) mod kill_leftovers;
