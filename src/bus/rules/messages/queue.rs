//! Messages to a group that nobody is in yet: the first who fits gets each, or its sender is told that nobody came.

use super::resolve::Recipients;
use crate::bus::event::{Envelope, Event};
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::notice::{Notice, notice};
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::Session;
use crate::domain::limits;
use crate::domain::messaging::Audience;

/// Returns the recipients of a message: nobody yet, if nobody fits and its sender says that it may wait.
pub(super) fn or_queued(
    writer: &Writer<'_>,
    me: &Session,
    found: Result<Recipients, Refusal>,
    more: Option<&Envelope>,
) -> Result<Recipients, Refusal> {
    let group = match found {
        Err(Refusal::NobodyFits(nobody)) if more.is_some_and(|more| more.queue) => nobody.group,
        found => return found,
    };
    let (own, all) = writer.state.queued_by(&me.name);
    for (count, limit, is_own) in [(own, limits::QUEUED_OF_ONE, true), (all, limits::QUEUED, false)]
    {
        if count >= limit {
            return Err(Refusal::TooManyQueued { count, own: is_own });
        }
    }
    Ok(Recipients { audience: Audience::Group(group), to: Vec::new() })
}

/// Delivers the messages that somebody fits by now, and ends those that have waited for too long.
pub(in crate::bus::rules) fn deliver_queued(writer: &mut Writer<'_>) {
    let state = writer.state;
    for (id, session) in state.queue_that_fits() {
        if writer.is_full() {
            return;
        }
        let to = vec![session.name.clone()];
        writer.push(Event::MessageAddressed { id: id.clone(), to: to.clone().into() });
        if let Some(message) = state.message(id) {
            writer.deliver_to_waits(message, &to);
        }
    }
    for id in state.queue_that_lapsed(writer.now) {
        if writer.is_full() {
            return;
        }
        if state.message(id).is_some_and(|message| state.fits_somebody(message)) {
            continue;
        }
        writer.push(Event::MessageUnclaimed { id: id.clone() });
        writer.end_waits_for(id, |_, _| true);
        let message = state.message(id);
        let sender = message.and_then(|message| Some((message, message.from.member()?)));
        if let Some((message, sender)) = sender {
            let address = match &message.audience {
                Audience::Group(group) => notice![*group],
                _ => Notice::default(),
            };
            let text =
                notice!["your message ", *id, " to ", address, " expired: nobody who fits came"];
            writer.notice(sender, text);
        }
    }
}
