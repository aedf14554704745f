//! Stopping agents: gracefully, by signals, without the bus, and after a bridge that died.

pub(crate) mod clean_up_dead_bridges;
pub(crate) mod end_without_bus;
pub(crate) mod hold_when_cut_off;
pub(crate) mod stop_agent;
