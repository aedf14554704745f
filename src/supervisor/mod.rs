//! One child process each: spawn, watch, stop.
//!
//! What it guarantees for a child from `spawn`:
//! - It leads a process group of its own, and exactly one task owns it. Everyone else holds a `Supervised`, which states wishes
//!   and awaits the end.
//! - Nobody is signalled who is not certainly ours: a group only while its leader is not reaped, a process only while it is held.
//! - When the child ends, by itself or not, what remains of it is killed. Only then does `Supervised::exited` answer.
//! - Its stderr is always read, so that a full pipe never stops it; the last of it is kept for error messages.
//! - When the last handle or the runtime goes, the child is ended. That is the last resort, not a way to stop.
//!
//! A child behind a shim (`ChildSpec::shim`, `shim`) is ended with all that descends from it, also what has left its group or its
//! session, and also when this process is killed. When its shim is killed, what it guarded falls to this process, if that adopts
//! orphans (`adopt_orphans`). A direct child is ended with its group alone, and may outlive this process.
//!
//! What other processes of ours have left when they died is found and ended by `end_remains`.
//!
//! What it does not do: restart, or look into stdin and stdout, which belong to the caller.

mod child;
mod child_spec;
mod direct;
mod leftovers;
mod shim;
mod signal_deadlines;
mod spawn;
mod spawn_error;
mod stderr_tail;

#[cfg(test)]
mod tests;

pub use self::child::{Exit, StopError, Supervised};
pub use self::child_spec::{ChildSpec, Pipes, Shim};
pub use self::leftovers::adopted_orphans::adopt_orphans;
pub use self::leftovers::kill_leftovers::{Remains, end_remains};
pub use self::shim::shim_process;
pub use self::spawn::spawn;
pub use self::spawn_error::SpawnError;
pub use crate::domain::grace_periods::StopPlan;
