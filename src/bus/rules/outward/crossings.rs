//! What becomes of messages to other projects, as the sessions report that take them across.

use super::arrive::with_short_notes;
use crate::bus::event::{Event, MessageHeld, MessageRelayed, ProjectsListed, ReceiptsTold, Skip};
use crate::bus::rules::command::{Crossing, NotRelayed};
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::messages;
use crate::bus::rules::notice::{Notice, listed, notice};
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::{Message, State, without_note};
use crate::domain::ids::{MessageId, SessionId};
use crate::domain::limits;
use crate::domain::member::MemberKind;
use crate::domain::messaging::{HeldWhy, ListedProjects, ReceiptElsewhere};

/// Performs what a session reports. An agent has no configuration of the user, and so takes nothing across.
pub(in crate::bus::rules) fn crossing(
    writer: &mut Writer<'_>,
    me: SessionId,
    crossing: &Crossing,
) -> Result<(), Refusal> {
    if writer.session(me)?.kind == MemberKind::Agent {
        return Err(Refusal::NotYours);
    }
    match crossing {
        Crossing::Relayed { id, there, receipts } => {
            if waits(writer, id).is_some() {
                let (id, there) = (id.clone(), there.clone());
                let receipts = receipts.clone();
                writer.push(Event::MessageRelayed(MessageRelayed { id, there, receipts }));
            }
        }
        Crossing::Found { id, before, receipts } => found(writer, id, before, receipts),
        Crossing::Held { id, why } => held(writer, id, *why),
        Crossing::Failed { id, why } => failed(writer, id, why),
        Crossing::Told { id, receipts } => {
            let projects = writer.state.other_projects();
            let arrived = projects.arrived.iter().find(|arrived| arrived.id == *id);
            if arrived.is_some_and(|arrived| arrived.told != *receipts) {
                let (id, receipts) = (id.clone(), receipts.clone());
                writer.push(Event::ReceiptsTold(ReceiptsTold { id, receipts }));
            }
        }
        Crossing::Listed(listed) => list_projects(writer, me, listed),
        Crossing::Arrive(_) | Crossing::Receipts { .. } => return Err(Refusal::NotYours),
    }
    Ok(())
}

/// Notes which projects there are, as a session has read that joins, or that has come to lead. One that finds others here, and does not lead
/// them, does not change what they go by.
pub(in crate::bus::rules) fn list_projects(
    writer: &mut Writer<'_>,
    me: SessionId,
    listed: &ListedProjects,
) {
    let known = writer.state.other_projects();
    let ListedProjects { own, tags: mut marks, unseen } = listed.clone();
    for tag in unseen {
        if let Some(known) = known.known.get(&tag) {
            marks.insert(tag, known.mark);
        }
    }
    let before = known.known.iter().map(|(tag, known)| (tag, known.mark));
    let is_same = known.own == own && before.eq(marks.iter().map(|(tag, mark)| (tag, *mark)));
    let are_none = known.own.is_none() && known.tags.is_empty();
    if !is_same && (are_none || sets_up_team(writer.state, me)) {
        let tags = marks.keys().cloned().collect();
        let listed = ProjectsListed { by: Some(me), own, tags, marks, skip: Skip };
        writer.push(Event::ProjectsListed(listed));
    }
}

/// Says whether the configuration of a session is that of the team: it leads, or nobody else is here.
pub(in crate::bus::rules) fn sets_up_team(state: &State, me: SessionId) -> bool {
    state.is_lead(me) || state.live_sessions().iter().all(|session| session.id == me)
}

/// Returns a message that waits for the way to another project.
fn waits<'a>(writer: &Writer<'a>, id: &MessageId) -> Option<&'a Message> {
    let message = writer.state.message(id).filter(|one| one.audience.elsewhere().is_some());
    message.filter(|_| writer.state.is_promised(id))
}

/// Notes the receipts that a message has in the project that it went to, if this bus still has what whoever found them knew.
fn found(
    writer: &mut Writer<'_>,
    id: &MessageId,
    before: &[ReceiptElsewhere],
    receipts: &[ReceiptElsewhere],
) {
    let crossed = writer.state.crossed(id).filter(|crossed| crossed.receipts == before);
    let Some(there) = crossed.and_then(|crossed| crossed.there.clone()) else { return };
    if !receipts.iter().map(without_note).eq(before.iter().cloned()) {
        let (id, receipts) = (id.clone(), with_short_notes(receipts));
        writer.push(Event::MessageRelayed(MessageRelayed { id, there, receipts }));
    }
}

/// Tells the sender of a message that it is not there yet: once for each reason.
fn held(writer: &mut Writer<'_>, id: &MessageId, why: HeldWhy) {
    let Some(message) = waits(writer, id) else { return };
    if writer.state.crossed(id).is_some_and(|crossed| crossed.held == Some(why)) {
        return;
    }
    writer.push(Event::MessageHeld(MessageHeld { id: id.clone(), why }));
    if let Some(sender) = message.from.member() {
        let text = notice![
            "your message ",
            *id,
            to(message),
            " is kept, for 30 days at most, and delivered when it can be: ",
            why.in_words()
        ];
        writer.notice(sender, text);
    }
}

/// Ends a message that cannot be delivered, and tells its sender why.
fn failed(writer: &mut Writer<'_>, id: &MessageId, why: &NotRelayed) {
    let Some(message) = waits(writer, id) else { return };
    let why = match why {
        NotRelayed::UnknownMember { there } if there.is_empty() => {
            notice!["no member there has that name"]
        }
        NotRelayed::UnknownMember { there } => {
            let names = there.iter().take(limits::NAMED_ELSEWHERE).map(|name| notice![*name]);
            notice!["no member there has that name; there are ", listed(names.collect())]
        }
        NotRelayed::Lost => notice!["its text is lost"],
        NotRelayed::Moved => notice!["its tag means another directory since then: send it again"],
        NotRelayed::Undone => {
            notice!["it was on its way before this bus was put back from a backup, and is over"]
        }
        NotRelayed::Refused => notice!["the bus there does not take it"],
    };
    let text = notice![" was not delivered: ", why];
    messages::end_waiting(writer, message, &text);
}

/// Names the address of a message, behind a blank.
fn to(message: &Message) -> Notice {
    match message.audience.elsewhere() {
        Some(address) => notice![" to ", *address],
        None => Notice::default(),
    }
}
