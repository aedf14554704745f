//! Rules of messages: sending, receiving, waiting, proofs of reading, and acknowledging.

mod addressing;
mod check_envelope;
mod deadlines;
mod send;
mod signal_effects;
mod receive;
mod wait;
mod delivery_proofs;
mod acknowledge;

pub(super) use self::acknowledge::acknowledge;
pub(super) use self::addressing::check_body;
pub use self::addressing::known_member;
pub(super) use self::deadlines::{answer_is_due, expire};
pub(in crate::bus) use self::delivery_proofs::unprinted_by_hooks;
pub(super) use self::delivery_proofs::{
    end_calls, end_hooks, note_received, note_written, settle, take_notice,
};
pub(in crate::bus) use self::receive::picked;
pub(super) use self::receive::take;
pub(super) use self::send::{broadcast, send, send_as_human};
pub(super) use self::wait::{end_wait, wait};
