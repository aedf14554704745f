//! Rules of workflows: one orchestrator at a time leads a workflow, and its runner moves the steps. The rules refuse impossible
//! moves, so no process can begin a step twice or too early.

mod lookups;
mod lead;
mod steps;
mod interrupted;

pub(super) use self::interrupted::{notify_hung, notify_left, show_interrupted};
pub(super) use self::lead::{cancel, create, resume};
pub(super) use self::steps::{approve, expand, move_steps, start_step, startable};
