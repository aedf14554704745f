//! How far a webhook is: it never goes back, so that none gets a message again because two bridges reported at once.

use crate::bus::event::{Event, Skip};
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::refusal::Refusal;
use crate::domain::ids::SessionId;
use crate::domain::member::{Label, MemberKind};

/// Records the message that a webhook got last. Only those who lead send any.
pub(in crate::bus::rules) fn webhook_sent(
    writer: &mut Writer<'_>,
    me: SessionId,
    name: &Label,
    seq: u64,
) -> Result<(), Refusal> {
    if writer.session(me)?.kind != MemberKind::Orchestrator {
        return Err(Refusal::NotYours);
    }
    if writer.state.webhook_place(name).is_none_or(|before| before < seq) {
        writer.push(Event::WebhookSent { name: name.clone(), seq, skip: Skip });
    }
    Ok(())
}
