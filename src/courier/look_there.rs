//! Looks in another project for what this bus has forgotten because it was put back from a backup: the couriers there brought it long ago,
//! and bring nothing twice. It takes the receipts of messages that this bus has sent, and the answers to them.
//!
//! Each courier looks once, when it begins: nobody puts a bus back while a session uses it.

use std::collections::BTreeMap;

use super::run_errand::{add_notes, read, within};
use crate::bus::rules::{Crossing, Operation};
use crate::bus::state::{Message, State};
use crate::bus::{Bus, BusError, Membership};
use crate::domain::ids::MessageId;
use crate::domain::member::Label;
use crate::domain::messaging::ReceiptElsewhere;

/// The messages of this bus that are in another project, by the ids that they have there.
type SentThere = BTreeMap<MessageId, MessageId>;

/// Takes what this bus does not know any more from that of the project with this tag.
pub(super) async fn look_there(
    me: &Membership,
    own: &Label,
    other: &Bus,
    tag: &Label,
) -> Result<(), BusError> {
    me.bus().refresh()?;
    let sent: SentThere = me.bus().look(|state| {
        let there = state
            .sent_to(tag)
            .filter_map(|(message, crossed)| Some((crossed.there.clone()?, message.id.clone())));
        there.collect()
    });
    for (there, id) in &sent {
        take_receipts(me, own, other, (id, there)).await?;
    }
    for answer in other.look(|state| answers(state, own, &sent)) {
        take_answer(me, other, tag, &answer).await?;
    }
    Ok(())
}

/// Takes the receipts that a message has there, unless another courier has brought some since this one has looked.
async fn take_receipts(
    me: &Membership,
    own: &Label,
    other: &Bus,
    (id, there): (&MessageId, &MessageId),
) -> Result<(), BusError> {
    let before = me.bus().look(|state| state.crossed(id).map(|one| one.receipts.clone()));
    other.refresh()?;
    let found = other.look(|state| receipts_of(state, own, id, there));
    let (Some(before), Some(found)) = (before, found) else { return Ok(()) };
    if before == found {
        return Ok(());
    }
    let receipts = add_notes(other, there, found)?;
    let found = Crossing::Found { id: id.clone(), before, receipts };
    me.ask(Operation::Crossing(found)).await.map(drop)
}

/// Returns the receipts of a message that went there, if it still stands there.
fn receipts_of(
    state: &State,
    own: &Label,
    id: &MessageId,
    there: &MessageId,
) -> Option<Vec<ReceiptElsewhere>> {
    let message = state.message(there)?;
    let origin = message.more.as_ref()?.origin.as_ref()?;
    (origin.tag == *own && origin.id == *id).then(|| state.receipts_here(message))
}

/// Returns what was sent from there in answer to these messages, oldest first, with the id that each has had here.
fn answers(state: &State, own: &Label, sent: &SentThere) -> Vec<(Message, MessageId)> {
    let answers = state.sent_to(own).filter_map(|(message, crossed)| {
        let is_answer = message.reply_to.as_ref().is_some_and(|id| sent.contains_key(id));
        Some((message.clone(), crossed.there.clone()?)).filter(|_| is_answer)
    });
    let mut answers: Vec<_> = answers.collect();
    answers.sort_by_key(|(message, _)| message.seq);
    answers
}

/// Takes an answer that was here and is not: it arrives as it did then. The rules know if it is only long over.
async fn take_answer(
    me: &Membership,
    other: &Bus,
    tag: &Label,
    (answer, here): &(Message, MessageId),
) -> Result<(), BusError> {
    let Some(to) = answer.audience.elsewhere() else { return Ok(()) };
    if me.bus().look(|state| state.message(here).is_some()) {
        return Ok(());
    }
    let Some(arriving) = read(other, tag, answer, to)? else { return Ok(()) };
    if me.bus().look(|state| state.arrived(&arriving.origin).is_some()) {
        return Ok(());
    }
    let arrive = Operation::Crossing(Crossing::Arrive(Box::new(arriving)));
    match within(me.bus().submit(None, Vec::new(), arrive)).await {
        // One that nobody here takes now stays where it is, as it would without this look.
        Ok(_) | Err(BusError::Refused(_)) => Ok(()),
        Err(error) => Err(error),
    }
}
