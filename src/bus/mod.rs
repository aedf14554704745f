//! The log of events, the state that follows from it, and the handle that everyone uses.
//!
//! `command --decide(state)--> events --append--> log --apply--> state`, in every process by itself.

#[cfg(test)]
mod contract;
#[cfg(test)]
mod model;
pub mod event;
pub mod file;
pub mod line;
pub mod state;
pub mod rules;
pub mod log;
pub mod memory;
pub mod faulty;
pub mod pulse;
mod boots;
mod lookout;
mod queue;
mod trouble;
mod worker;
mod view;
mod error;
pub mod handle;
pub mod letter;
mod readable;
mod history;
mod answer;
mod again;
mod claims;
pub mod seat;
pub mod call;
mod hooked;

pub use self::answer::Answer;
pub use self::call::{Call, Claimed, SentMessage, Waited};
pub use self::error::BusError;
pub use self::handle::{Bus, Receipt};
pub use self::letter::{Letter, RequestHead, RequestTexts};
pub use self::pulse::Pace;
pub use self::readable::Readable;
pub use self::seat::{Joining, Seat};
