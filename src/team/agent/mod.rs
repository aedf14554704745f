//! One agent: its actor, its processes, and what it does next.

pub(crate) mod actor;
pub(crate) mod context;
pub(crate) mod lifetime;
pub(crate) mod model_and_mode;
pub(crate) mod next_step;
pub(crate) mod pending_writes;
pub(crate) mod printed;
pub(crate) mod process_end;
pub(crate) mod process_record;
pub(crate) mod restart_policy;
pub(crate) mod start_process;
pub(crate) mod start_timeout;
