//! Walks over the log for what the snapshot does not hold: older messages, threads, sums of usage. Each reads a few entries at a step, so that
//! nobody else who asks the bus waits for a whole log, and keeps what a later walk would read again.

mod kept_places;
mod older_walk;
mod thread_walk;
mod usage_walk;
mod walk_steps;
mod waypoints;

pub(super) use self::kept_places::Kept;
pub(super) use self::walk_steps::Walk;

#[cfg(test)]
mod tests;
