//! The courier: takes messages from the outbox of a bus to the buses of other projects, and their receipts back.
//!
//! A message is on its own bus first. The courier writes it to the other one, with its origin, in one append, and then notes on its own
//! bus that it is there. If it dies between the two, the next one finds the origin there and only takes the note. So each message arrives
//! once, whoever takes it across and however often.
//!
//! The sessions with the user's configuration are couriers: the orchestrator that leads, or the peers where none does. What another bus
//! does to its reader, slow or broken as it may be, happens on a thread of its own: nothing else waits for it.

mod errands;
mod known_projects;
mod look_there;
mod open_other;
mod run_errand;
mod send_out;
mod under_way;
#[cfg(test)]
mod tests;

pub use self::known_projects::KnownProjects;
pub use self::send_out::Courier;
