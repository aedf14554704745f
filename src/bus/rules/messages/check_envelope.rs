//! Checks what a message has beside its text.

use std::ops::RangeInclusive;

use crate::bus::event::Envelope;
use crate::bus::rules::refusal::Refusal;
use crate::domain::limits;
use crate::domain::messaging::{check_attachments, check_payload};
use crate::domain::text::visible_letters::is_invisible;
use crate::domain::wait_times;

/// Refuses an envelope that is wrong in itself, or that does not go with what the message replies to.
pub fn check_envelope(envelope: &Envelope, reply_to: Option<&str>) -> Result<(), Refusal> {
    if let Some(signal) = &envelope.signal
        && signal.class().needs_reply_to()
        && reply_to.is_none()
    {
        return Err(Refusal::NeedsReplyTo { signal: signal.clone() });
    }
    if let (Some(signal), Some(payload)) = (&envelope.signal, &envelope.payload) {
        check_payload(signal, payload)?;
    }
    let bytes = envelope.payload_bytes();
    if bytes > limits::PAYLOAD_BYTES {
        return Err(Refusal::PayloadTooLong { bytes });
    }
    check_attachments(&envelope.attachments)?;
    if let Some(reference) = &envelope.reference {
        check_reference(reference)?;
    }
    check_seconds("ttl_seconds", envelope.ttl_seconds, wait_times::TTL_SECONDS)?;
    check_seconds("response_seconds", envelope.response_seconds, wait_times::RESPONSE_SECONDS)
}

fn check_reference(reference: &str) -> Result<(), Refusal> {
    if reference.trim().is_empty() {
        return Err(Refusal::Empty { what: "ref" });
    }
    let bytes = reference.len();
    if bytes > limits::REFERENCE_BYTES || reference.contains(is_invisible) {
        return Err(Refusal::NoReference { bytes });
    }
    Ok(())
}

fn check_seconds(
    what: &'static str,
    seconds: Option<u64>,
    range: RangeInclusive<u64>,
) -> Result<(), Refusal> {
    match seconds {
        Some(given) if !range.contains(&given) => Err(Refusal::SecondsOutOfRange {
            what,
            given,
            least: *range.start(),
            most: *range.end(),
        }),
        _ => Ok(()),
    }
}
