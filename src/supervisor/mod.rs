//! One child process each: spawn, watch, stop.
//!
//! Guarantees for a child from `spawn`:
//! - It leads a process group of its own, and exactly one task owns it. All other code holds a `Supervised`, which requests stops
//!   and awaits the end.
//! - Only processes that are certainly ours get signals: a group while its leader is not reaped, a process while it is held.
//! - When the child ends, for whatever reason, the rest of its group or tree is killed. Only then does `Supervised::exited` answer.
//! - Its stderr is always read, so that a full pipe never blocks it; the end of it is kept for error messages.
//! - When the last handle or the runtime is dropped, the child is killed. That is the last resort, not the plan.
//!
//! A child behind a shim (`ChildSpec::shim`, folder `shim`) ends with all its descendants, including those that have left its group
//! or its session, even when this process is killed. When the shim is killed, this process adopts the descendants, if it adopts
//! orphans (`adopt_orphans`). A direct child (folder `direct`) ends with its group alone, and may outlive this process.
//!
//! All children can be held, and go on later (`hold_children`).
//!
//! A process that exits at once kills all its children without waiting for their ends (`kill_all_children`).
//!
//! `end_remains` kills the processes left by a bridge and its shims that died together (folder `leftovers`).
//!
//! The module does not restart children, and does not read stdin and stdout, which belong to the caller.

mod child;
mod child_spec;
mod direct;
mod leftovers;
pub(crate) mod npm_folder;
mod shim;
mod force_kill;
pub mod hold_children;
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
