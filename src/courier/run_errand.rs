//! Takes an errand to one other bus: each message in one append there, and then a note here.

use std::collections::BTreeMap;
use std::time::Duration;

use super::errands::{Errand, oldest_to};
use super::open_other;
use crate::bus::event::{Envelope, Event};
use crate::bus::rules::{Arriving, Crossing, NotRelayed, Operation, Refusal, id_there};
use crate::bus::state::{Arrived, Message, State};
use crate::bus::{Bus, BusError, Membership, Receipt};
use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::member::Label;
use crate::domain::messaging::{Elsewhere, HeldWhy, MessageOrigin, OriginPlace, ReceiptElsewhere};
use crate::domain::name::Name;
use crate::domain::text::suggest::nearest;
use crate::domain::wait_times;

/// How an errand ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Done,
    /// Something is left: it is tried again after a while.
    Again,
    /// The other bus was busy, or did not answer in time. Who wrote is told only if it stays so.
    Busy,
}

/// What is left to do after a step.
enum Step {
    /// The next one.
    Next,
    /// The next one, and this one again later.
    Later,
    /// Nothing more: the other bus, or the own one, cannot be used now.
    Stop(Ended),
}

/// Takes an errand to another bus.
pub(super) async fn run(me: &Membership, own: &Label, other: &Bus, errand: Errand) -> Ended {
    let mut ended = Ended::Done;
    if !errand.letters.is_empty() {
        // Who is there is decided by who lives.
        if let Err(error) = within(other.reap_dead_sessions()).await {
            return stopped(me, &error, &errand.letters).await;
        }
    }
    for letter in &errand.letters {
        match take_letter(me, own, other, letter).await {
            Step::Next => {}
            Step::Later => ended = Ended::Again,
            Step::Stop(how) => return how,
        }
    }
    for (arrived, receipts) in errand.receipts {
        match take_receipts(me, own, other, &arrived, receipts).await {
            Step::Next => {}
            Step::Later => ended = Ended::Again,
            Step::Stop(how) => return how,
        }
    }
    ended
}

/// Ends the messages whose tag has meant another directory: whatever is in the new one, they do not go there.
pub(super) async fn end_moved(me: &Membership, errand: &mut Errand) {
    for id in std::mem::take(&mut errand.moved) {
        // What cannot be noted now is found again.
        note(me, Crossing::Failed { id, why: NotRelayed::Moved }).await;
    }
}

/// Notes for all messages why they cannot be taken across.
pub(super) async fn hold(me: &Membership, letters: &[Message], why: HeldWhy) {
    for letter in letters {
        let held = me.bus().look(|state| state.crossed(&letter.id).and_then(|one| one.held));
        if held != Some(why) {
            note(me, Crossing::Held { id: letter.id.clone(), why }).await;
        }
    }
}

async fn stopped(me: &Membership, error: &BusError, letters: &[Message]) -> Ended {
    if open_other::is_busy(error) {
        return Ended::Busy;
    }
    hold(me, letters, open_other::why(error)).await;
    Ended::Again
}

async fn take_letter(me: &Membership, own: &Label, other: &Bus, letter: &Message) -> Step {
    let id = letter.id.clone();
    let Some(to) = letter.audience.elsewhere() else { return Step::Next };
    // Since the errand began, another courier may have taken it.
    if me.bus().refresh().is_err() {
        return Step::Stop(Ended::Again);
    }
    if !me.bus().look(|state| state.is_promised(&letter.id)) {
        return Step::Next;
    }
    let arriving = match read(me.bus(), own, letter, to) {
        Ok(Some(arriving)) => arriving,
        Ok(None) => return note(me, Crossing::Failed { id, why: NotRelayed::Lost }).await,
        Err(error) => {
            tracing::debug!("failed to read a message for another project: {error}");
            return Step::Later;
        }
    };
    let arrive = Operation::Crossing(Crossing::Arrive(Box::new(arriving)));
    let there = match within(other.submit(None, Vec::new(), arrive)).await {
        Ok(receipt) => arrived_as(&receipt),
        Err(BusError::Refused(Refusal::Arrived { id })) => Some(id),
        // Another one has taken it meanwhile.
        Err(BusError::Refused(Refusal::ArrivedLate)) if is_over_here(me, letter) => {
            return Step::Next;
        }
        Err(BusError::Refused(refusal)) => return refused(me, other, letter, to, &refusal).await,
        Err(error) => {
            return Step::Stop(stopped(me, &error, std::slice::from_ref(letter)).await);
        }
    };
    let Some(there) = there else { return Step::Stop(Ended::Again) };
    let receipts = other.look(|state| {
        let message = state.message(&there);
        message.map(|message| state.receipts_here(message)).unwrap_or_default()
    });
    note(me, Crossing::Relayed { id, there, receipts }).await
}

/// Reads what goes from a bus to another project; none if the text is lost.
pub(super) fn read(
    bus: &Bus,
    own: &Label,
    letter: &Message,
    to: &Elsewhere,
) -> Result<Option<Arriving>, BusError> {
    let Some(from) = letter.from.member().cloned() else { return Ok(None) };
    let loaded = bus.load_message(letter.clone(), &from, 0, usize::MAX)?;
    if loaded.lost.is_some() {
        return Ok(None);
    }
    let more = loaded.more.map(|more| {
        let Envelope { signal, urgency, payload, attachments, reference, response_seconds, .. } =
            *more;
        Box::new(Envelope {
            signal,
            urgency,
            payload,
            attachments,
            reference,
            response_seconds,
            ..Envelope::default()
        })
    });
    let reply_to = letter.reply_to.as_ref();
    let reply_to = reply_to.and_then(|id| bus.look(|state| id_there(state, id, &to.tag)));
    let place = bus.look(|state| {
        let oldest = oldest_to(state, &to.tag).unwrap_or(letter.seq).min(letter.seq);
        let bus = state.other_projects().bus?;
        Some(OriginPlace { bus, seq: letter.seq, oldest })
    });
    let origin =
        MessageOrigin { tag: own.clone(), id: letter.id.clone(), sent_ms: letter.sent_ms, place };
    Ok(Some(Arriving {
        from,
        origin,
        to: to.name.clone(),
        body: Bus::body(loaded.text),
        priority: letter.priority,
        more: more.filter(|more| !more.is_empty()),
        reply_to,
    }))
}

/// Says whether a message is not on its way any more, as far as its own bus knows by now.
fn is_over_here(me: &Membership, letter: &Message) -> bool {
    me.bus().refresh().is_ok() && !me.bus().look(|state| state.is_promised(&letter.id))
}

/// Returns the id of the message that has arrived.
fn arrived_as(receipt: &Receipt) -> Option<MessageId> {
    receipt.events.iter().find_map(|event| match event {
        Event::MessageSent(sent) if sent.from.elsewhere().is_some() => Some(sent.id.clone()),
        _ => None,
    })
}

/// Keeps a message that the other bus takes later, and ends one that it never takes.
async fn refused(
    me: &Membership,
    other: &Bus,
    letter: &Message,
    to: &Elsewhere,
    refusal: &Refusal,
) -> Step {
    let held = match refusal {
        Refusal::InboxFull { .. } | Refusal::InboxHeavy { .. } => Some(HeldWhy::Full),
        Refusal::NobodyElse => Some(HeldWhy::Nobody),
        Refusal::ArrivedEarly => Some(HeldWhy::Behind),
        _ => None,
    };
    if let Some(why) = held {
        hold(me, std::slice::from_ref(letter), why).await;
        return Step::Later;
    }
    let why = match (refusal, &to.name) {
        (Refusal::UnknownMember { .. }, Some(name)) => {
            NotRelayed::UnknownMember { there: other.look(|state| names_there(state, name)) }
        }
        (Refusal::ArrivedLate, _) => NotRelayed::Undone,
        _ => {
            tracing::warn!("a message to `{to}` is not taken there: {refusal}");
            NotRelayed::Refused
        }
    };
    note(me, Crossing::Failed { id: letter.id.clone(), why }).await
}

/// Returns the members of a project, those with names like this one first.
fn names_there(state: &State, like: &Name) -> Vec<Name> {
    let near = nearest(like.as_str(), state.names().map(Name::as_str));
    let mut names: Vec<Name> = state.names().cloned().collect();
    let place = |name: &Name| near.iter().position(|near| near == name.as_str());
    names.sort_by_key(|name| place(name).unwrap_or(near.len()));
    names.truncate(limits::NAMED_ELSEWHERE);
    names
}

async fn take_receipts(
    me: &Membership,
    own: &Label,
    other: &Bus,
    arrived: &Arrived,
    receipts: Vec<ReceiptElsewhere>,
) -> Step {
    let (from, id) = (own.clone(), arrived.origin.id.clone());
    let there = arrived.id.clone();
    let with_notes = match add_notes(me.bus(), &arrived.id, receipts.clone()) {
        Ok(with_notes) => with_notes,
        Err(error) => {
            tracing::debug!("failed to read what was said of a message: {error}");
            return Step::Later;
        }
    };
    let told = Crossing::Receipts { from, id, there, receipts: with_notes };
    match within(other.submit(None, Vec::new(), Operation::Crossing(told))).await {
        // One that the project has forgotten has no receipts there.
        Ok(_) | Err(BusError::Refused(_)) => {}
        Err(error) => {
            tracing::debug!("failed to take receipts to another project: {error}");
            return Step::Stop(Ended::Again);
        }
    }
    note(me, Crossing::Told { id: arrived.id.clone(), receipts }).await
}

/// Adds what recipients here said of a message when they acknowledged it, or resolved its thread, from the log.
pub(super) fn add_notes(
    bus: &Bus,
    message: &MessageId,
    mut receipts: Vec<ReceiptElsewhere>,
) -> Result<Vec<ReceiptElsewhere>, BusError> {
    if !receipts.iter().any(|receipt| receipt.state.is_acknowledged()) {
        return Ok(receipts);
    }
    let mut notes: BTreeMap<Name, Option<String>> = BTreeMap::new();
    bus.entries_with_any(&[&message.to_string()], |_, entry| {
        for event in entry.events {
            match event {
                Event::MessageAcknowledged(said) if said.ids.contains(message) => {
                    notes.insert(said.member, said.note);
                }
                Event::ThreadResolved(said) if said.threads.contains(message) => {
                    notes.insert(said.by, Some(said.summary));
                }
                _ => {}
            }
        }
    })?;
    for receipt in receipts.iter_mut().filter(|receipt| receipt.state.is_acknowledged()) {
        receipt.note = notes.remove(&receipt.name).flatten();
    }
    Ok(receipts)
}

/// Notes something on the own bus.
async fn note(me: &Membership, crossing: Crossing) -> Step {
    match me.ask(Operation::Crossing(crossing)).await {
        Ok(_) => Step::Next,
        Err(error) => {
            // The next look finds it again.
            tracing::debug!("failed to note what became of a message to a project: {error}");
            Step::Stop(Ended::Again)
        }
    }
}

/// Bounds how long the other bus may take.
pub(super) async fn within<T>(
    work: impl Future<Output = Result<T, BusError>>,
) -> Result<T, BusError> {
    const LIMIT: Duration = wait_times::OTHER_BUS;
    tokio::time::timeout(LIMIT, work).await.unwrap_or(Err(BusError::Closed))
}
