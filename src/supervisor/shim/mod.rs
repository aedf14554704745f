//! A child behind a shim: a process of ours between the bridge and the agent, which ends the agent's whole tree even if the bridge is
//! killed.

pub(crate) mod bridge_side;
pub(crate) mod control_socket;
mod held_processes;
pub mod shim_process;
