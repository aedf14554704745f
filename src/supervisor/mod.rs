//! One child process each: spawn, watch, stop.
//!
//! What it guarantees for a child from `spawn`:
//! - It leads a process group of its own, and exactly one task owns it. Everyone else holds a `Supervised`, which requests
//!   stops and awaits the end.
//! - Only processes that are certainly ours are signalled: a group while its leader is not reaped, a process while it is held.
//! - When the child ends, by itself or not, the rest of its group or tree is killed. Only then does `Supervised::exited` answer.
//! - Its stderr is always read, so that a full pipe never stops it; the last of it is kept for error messages.
//! - When the last handle or the runtime is dropped, the child is killed. That is the last resort, not a way to stop.
//!
//! A child behind a shim (`ChildSpec::shim`, folder `shim`) is ended with all its descendants, also those that have left its group or
//! its session, and also when this process is killed. When the shim is killed, the descendants fall to this process, if it adopts
//! orphans (`adopt_orphans`). A direct child (folder `direct`) is ended with its group alone, and may outlive this process.
//!
//! A process that ends at once kills all its children without waiting for their ends (`kill_all_children`).
//!
//! `end_remains` kills the processes that a bridge and its shims left when they died together (folder `leftovers`).
//!
//! The module does not restart children, and does not look into stdin and stdout, which belong to the caller.

mod child;
mod child_spec;
mod direct;
mod leftovers;
mod shim;
mod force_kill;
mod child_signal_deadlines;
mod spawn;
mod spawn_error;
mod stderr_tail;

#[cfg(test)]
mod tests;

pub use self::child::{Exit, StopError, Supervised};
pub use self::child_spec::{ChildSpec, Pipes, Shim};
pub use self::force_kill::kill_all_children;
pub use self::leftovers::adopted_orphans::adopt_orphans;
pub use self::leftovers::kill_leftovers::{Remains, end_remains};
pub use self::shim::shim_process;
pub use self::spawn::spawn;
pub use self::spawn_error::SpawnError;
pub use crate::domain::grace_periods::StopPlan;
