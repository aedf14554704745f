//! How a disagreement goes on when its parties do not agree: a further round, an arbiter, the user.

use super::newest::Newest;
use super::through_lead::{ask_through, asked_orchestrators};
use super::told::{MINUTES, known, positions, show_thread, tell};
use crate::bus::event::{ConflictMoved, ConflictResolved, Event};
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::notice::notice;
use crate::bus::state::{Conflict, Session, State};
use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::member::Label;
use crate::domain::messaging::{Arbiter, Author, ConflictEnd, ConflictStep};
use crate::domain::name::Name;

/// Begins a round.
pub(super) fn next_round(writer: &mut Writer<'_>, conflict: &Conflict, round: u32) {
    go_on(writer, conflict, ConflictStep::Round(round));
    let (round, rounds) = (u64::from(round), u64::from(limits::CONFLICT_ROUNDS));
    let text = notice![
        "round ",
        round,
        " of ",
        rounds,
        " begins in the disagreement in the thread of ",
        conflict.thread
    ];
    tell(writer, &conflict.names().collect::<Vec<_>>(), &conflict.thread, &text);
}

/// Asks an arbiter to decide; the user if there is none. `newest` is the message that brought it there.
pub(super) fn escalate(writer: &mut Writer<'_>, conflict: &Conflict, newest: Option<&Newest<'_>>) {
    let Some(arbiter) = arbiter(writer, conflict) else {
        return ask_user(writer, conflict, newest);
    };
    let arbiter = arbiter.name.clone();
    go_on(writer, conflict, ConflictStep::Arbiter(arbiter.clone()));
    let text =
        notice![arbiter, " is asked to decide the disagreement in the thread of ", conflict.thread];
    tell(writer, &conflict.names().collect::<Vec<_>>(), &conflict.thread, &text);
    show_thread(writer, conflict, &arbiter, newest);
    let text = notice![
        positions(conflict, newest),
        ". You are asked to decide: send announce_decision to both in reply to ",
        known(conflict),
        " within ",
        MINUTES,
        " minutes. It binds them. You have been given what they wrote there"
    ];
    tell(writer, &[&arbiter], &conflict.thread, &text);
}

/// Finds who can decide: a member with the capability that the thread is about, else the one that the team has chosen, by default an
/// architect. It is no party, responds, and has room.
fn arbiter<'a>(writer: &Writer<'a>, conflict: &Conflict) -> Option<&'a Session> {
    let state: &State = writer.state;
    let may = |session: &&Session| {
        conflict.party(&session.name).is_none()
            && !session.hung
            && !writer.is_leaving(session.id)
            && writer.has_room(&session.name, 1)
    };
    let about = conflict.about.as_deref().and_then(|about| Label::parse(about).ok());
    let able = about.and_then(|about| {
        let live = state.live_sessions().into_iter().filter(may);
        live.into_iter().find(|session| session.is_capable(about.as_str()))
    });
    // By what it said when it joined, and not by a lane, which anybody may claim.
    able.or_else(|| {
        let chosen = state.arbiter();
        let mut live = state.live_sessions().into_iter().filter(may);
        live.find(|session| match &chosen {
            Arbiter::Able(word) => session.is_able(word.as_str()),
            Arbiter::Named(name) => session.name == *name,
        })
    })
}

/// Asks the user to decide, through the orchestrator that leads, and in the windows.
fn ask_user(writer: &mut Writer<'_>, conflict: &Conflict, newest: Option<&Newest<'_>>) {
    go_on(writer, conflict, ConflictStep::Human);
    let text = notice![
        "nobody decides the disagreement in the thread of ",
        conflict.thread,
        ": the user is asked"
    ];
    tell(writer, &conflict.names().collect::<Vec<_>>(), &conflict.thread, &text);
    if let Some(lead) = writer.lead().map(|lead| lead.name.clone()) {
        ask_through(writer, conflict, &lead, newest);
    }
}

fn go_on(writer: &mut Writer<'_>, conflict: &Conflict, to: ConflictStep) {
    let thread = conflict.thread.clone();
    writer.push(Event::ConflictMoved(ConflictMoved { thread, to }));
}

/// Nobody has spoken for too long.
pub(in crate::bus::rules) fn conflict_is_due(writer: &mut Writer<'_>, thread: &MessageId) {
    let conflict = writer.state.conflict(thread).filter(|conflict| conflict.is_open());
    let Some(conflict) = conflict else {
        return;
    };
    match &conflict.step {
        _ if !is_anybodys(writer, conflict) => end_unsaid(writer, thread),
        ConflictStep::Round(_) => escalate(writer, conflict, None),
        ConflictStep::Arbiter(arbiter) => {
            let text = notice![
                "you did not decide the disagreement in the thread of ",
                *thread,
                " in time: the user is asked"
            ];
            tell(writer, &[arbiter], thread, &text);
            ask_user(writer, conflict, None);
        }
        ConflictStep::Human => lapse(writer, conflict),
    }
}

/// Says whether a party may still go on with it.
fn is_anybodys(writer: &Writer<'_>, conflict: &Conflict) -> bool {
    conflict.names().any(|name| writer.reaches(name))
}

/// Ends a disagreement that matters to nobody any more: nobody is told.
pub(super) fn end_unsaid(writer: &mut Writer<'_>, thread: &MessageId) {
    writer.push(Event::ConflictResolved(ConflictResolved {
        thread: thread.clone(),
        how: ConflictEnd::Lapsed,
        by: Author::Bridge,
        message: None,
    }));
}

fn lapse(writer: &mut Writer<'_>, conflict: &Conflict) {
    end_unsaid(writer, &conflict.thread);
    let text = notice![
        "nobody has decided the disagreement in the thread of ",
        conflict.thread,
        " in time: it is over"
    ];
    tell(writer, &conflict.names().collect::<Vec<_>>(), &conflict.thread, &text);
}

/// A member has left: what it was asked to decide is the user's to decide, and what nobody goes on with is over.
pub(in crate::bus::rules) fn settle_left(writer: &mut Writer<'_>, session: &Session) {
    let name = &session.name;
    for conflict in writer.state.open_conflicts() {
        let decides = matches!(&conflict.step, ConflictStep::Arbiter(arbiter) if arbiter == name);
        if conflict.party(name).is_some() && !is_anybodys(writer, conflict) {
            end_unsaid(writer, &conflict.thread);
        } else if decides {
            ask_user(writer, conflict, None);
            let text = notice![
                "you have left: the user is asked to decide the disagreement in the thread of ",
                conflict.thread,
                ", and no longer you"
            ];
            tell(writer, &[name], &conflict.thread, &text);
        }
    }
}

/// Shows whoever is asked to decide a new word of a party. The party is told if that does not reach the arbiter.
pub(super) fn show_word(writer: &mut Writer<'_>, conflict: &Conflict, newest: &Newest<'_>) {
    let deciders = match &conflict.step {
        ConflictStep::Round(_) => return,
        ConflictStep::Arbiter(arbiter) => vec![arbiter.clone()],
        ConflictStep::Human => asked_orchestrators(writer, conflict),
    };
    let lacks = |name: &Name| conflict.party(name).is_none() && !newest.to.contains(name);
    let lacking: Vec<_> = deciders.into_iter().filter(lacks).collect();
    let (reached, full): (Vec<_>, Vec<_>) =
        lacking.into_iter().partition(|name| writer.has_room(name, 1));
    if !reached.is_empty() {
        let id = newest.id.clone();
        writer.push(Event::MessageAddressed { id, to: reached.into() });
    }
    if let (ConflictStep::Arbiter(_), Some(arbiter)) = (&conflict.step, full.first()) {
        let text = notice![
            "your message ",
            *newest.id,
            " does not reach ",
            *arbiter,
            ", who is asked to decide the disagreement in the thread of ",
            conflict.thread,
            ": that inbox is full. Send it again later"
        ];
        writer.notice(newest.by, text);
    }
}
