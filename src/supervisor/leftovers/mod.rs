//! Finding and killing processes that outlive the shim or the bridge that should have ended them.

pub(crate) mod adopted_orphans;
pub(crate) mod kill_leftovers;
