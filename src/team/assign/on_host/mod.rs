//! Work for agents on other hosts: which host is meant, asking its bridge, and what that bridge does.

pub(crate) mod find_host;
pub(crate) mod place_on_host;
mod steps_on_host;
pub(crate) mod take_up_placed;
pub(crate) mod unwithdrawn;
