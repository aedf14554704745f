//! Rules of messages: sending, receiving, waiting, proofs of reading, and acknowledging.

mod addressing;
mod queue;
mod rates;
mod resolve;
mod check_envelope;
mod copies;
mod deadlines;
mod send;
mod signal_effects;
mod receive;
mod wait;
mod delivery_proofs;
mod acknowledge;

pub(super) use self::acknowledge::acknowledge;
pub use self::addressing::known_member;
pub(in crate::bus::rules) use self::addressing::known_reader;
pub(super) use self::addressing::{check_body, check_room, recipient};
pub use self::check_envelope::check_envelope;
pub(in crate::bus::rules) use self::deadlines::withdraw_nudges;
pub(super) use self::deadlines::{answer_is_due, expire};
pub(super) use self::delivery_proofs::{
    end_calls, end_hooks, note_named, note_received, note_written, settle, take_notice,
};
pub(in crate::bus) use self::delivery_proofs::{is_proven_by_name, unprinted_by_hooks};
pub(super) use self::queue::{deliver_queued, end_waiting};
pub(super) use self::rates::{check_opened_once, check_pace, check_rate};
pub(in crate::bus) use self::receive::picked;
pub(super) use self::receive::take;
pub(super) use self::resolve::{Recipients, follow, follow_topic, leave_topic, resolve};
pub(super) use self::send::{broadcast, send, send_as_human};
pub(super) use self::signal_effects::supersede_progress;
pub(super) use self::wait::{end_wait, wait};
