//! Workflows: led by one orchestrator at a time, whose engine says what happens to the steps. What cannot happen is refused here,
//! so that no step is begun twice or too early, whoever says so.

mod lookups;
mod lead;
mod steps;
mod interrupted;

pub(super) use self::interrupted::{notify_hung, notify_left, show_interrupted};
pub(super) use self::lead::{cancel, create, resume};
pub(super) use self::steps::{approve, expand, move_steps, start_step};
