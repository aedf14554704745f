//! The log of events, the state that follows from it, and the handle that everyone uses.
//!
//! `command --decide(state)--> events --append--> log --apply--> state`, in every process by itself.

pub mod api;
pub mod background;
#[cfg(test)]
mod model;
pub mod event;
pub mod state;
pub mod rules;
pub mod storage;
mod error;

pub use self::api::answer_receipt::Answer;
pub use self::api::bus::{Bus, Receipt};
pub use self::api::call::{Call, Claimed, SentMessage, Waited};
pub use self::api::membership::{Joining, Membership};
pub use self::api::message_text::{LoadedMessage, RequestHead, RequestTexts};
pub use self::api::readable::Readable;
pub use self::background::heartbeats::HeartbeatIntervals;
pub use self::error::BusError;
