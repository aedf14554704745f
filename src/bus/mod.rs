//! The log of events, the state that follows from it, and the handle for all other modules.
//!
//! `command --decide(state)--> events --append--> log --apply--> state`, in each process.

pub mod event;
pub mod state;
mod replica;
pub mod storage;
pub mod rules;
mod error;
mod shared;
pub mod background;
pub mod api;
#[cfg(test)]
mod model;

pub use self::api::answer_receipt::Answer;
pub use self::api::bus::Bus;
pub use self::api::call::acknowledge::AcknowledgedMessage;
pub use self::api::call::outgoing::Outgoing;
pub use self::api::call::push::{Push, Pushed};
pub use self::api::call::{Call, Claimed, SentMessage, WaitFor, Waited};
pub use self::api::history::PastAttempt;
pub use self::api::membership::{Joining, Membership};
pub use self::api::message_text::{LoadedMessage, RequestHead};
pub use self::api::readable::Readable;
pub use self::background::heartbeats::HeartbeatIntervals;
pub use self::error::BusError;
pub use self::shared::Receipt;
pub(crate) use self::shared::named_acts;
pub use self::storage::stored_text::RequestTexts;
