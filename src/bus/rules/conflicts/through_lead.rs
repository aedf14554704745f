//! Asking the user to decide, through the orchestrator that leads: each lead is asked once in its life.

use std::collections::BTreeMap;

use super::newest::Newest;
use super::told::{known, positions, show_thread};
use crate::bus::rules::event_writer::{Post, Told, Writer};
use crate::bus::rules::notice::{Notice, notice};
use crate::bus::state::{Conflict, Message, Session, State};
use crate::domain::ids::MessageId;
use crate::domain::member::MemberKind;
use crate::domain::messaging::{ConflictStep, MessageKind};
use crate::domain::name::Name;

/// Returns the orchestrators through which the user was asked, and that stay: the lead, and those that led before and so have been given
/// what the parties wrote.
pub(super) fn asked_orchestrators(writer: &Writer<'_>, conflict: &Conflict) -> Vec<Name> {
    let position = writer.state.message(&known(conflict));
    let live = writer.state.live_sessions().into_iter();
    let asked = live.filter(|session| {
        let has_it = position.is_some_and(|message| message.delivery(&session.name).is_some());
        session.kind == MemberKind::Orchestrator
            && !writer.is_leaving(session.id)
            && (has_it || writer.state.is_lead(session.id))
    });
    asked.map(|session| session.name.clone()).collect()
}

/// Asks the user through one orchestrator.
pub(super) fn ask_through(
    writer: &mut Writer<'_>,
    conflict: &Conflict,
    lead: &Name,
    newest: Option<&Newest<'_>>,
) {
    if conflict.party(lead).is_some() {
        let text = notice![
            "you are a party in the thread of ",
            conflict.thread,
            ": ask your user to decide, with `cli-team-bridge send NAME TEXT --reply-to ",
            conflict.thread,
            "`"
        ];
        return ask(writer, conflict, lead, text);
    }
    show_thread(writer, conflict, lead, newest);
    let known = known(conflict);
    let text = notice![
        positions(conflict, newest),
        ". Nobody in the team decides it: put both positions to your user, and send what your user \
            decides to both with announce_decision in reply to ",
        known,
        ". check_messages with thread ",
        known,
        " shows what they wrote, also what an earlier session of your name was given"
    ];
    ask(writer, conflict, lead, text);
}

/// Sends the lead the notice that asks: it is for whoever leads.
fn ask(writer: &mut Writer<'_>, conflict: &Conflict, lead: &Name, text: Notice) {
    if writer.accepts_notice(lead) {
        let mut post = Post::notice_for(&Told::Lead(lead.clone()), text);
        post.thread = Some(conflict.thread.clone());
        writer.post(post);
    }
}

/// Says whether a message asks a lead for the decision of its user. The next lead is asked anew.
pub(in crate::bus::rules) fn asks_lead(state: &State, message: &Message) -> bool {
    message.kind == MessageKind::Notice
        && message.is_for_lead()
        && state.conflict(&message.thread).is_some()
}

/// Gives an orchestrator that leads from now on what its user is asked to decide, unless it was asked in this life. What the one before, or
/// an earlier session of its name, has not read of that goes.
pub(in crate::bus::rules) fn show_undecided(writer: &mut Writer<'_>, lead: &Session) {
    let state = writer.state;
    let undecided = state.open_conflicts().filter(|one| one.step == ConflictStep::Human);
    let undecided: Vec<&Conflict> = undecided.collect();
    if undecided.is_empty() {
        return;
    }
    let mut asks: BTreeMap<&MessageId, Vec<&Message>> = BTreeMap::new();
    for message in state.messages().filter(|message| asks_lead(state, message)) {
        asks.entry(&message.thread).or_default().push(message);
    }
    for conflict in undecided {
        if writer.is_full() {
            return;
        }
        let asked = asks.get(&conflict.thread).map_or(&[][..], Vec::as_slice);
        let has_it = |ask: &&Message| {
            let delivery = ask.delivery(&lead.name);
            ask.seq > lead.since_seq && delivery.is_some_and(|one| !one.ended_unseen())
        };
        if asked.iter().any(has_it) {
            continue;
        }
        for ask in asked {
            writer.supersede(&ask.id);
        }
        ask_through(writer, conflict, &lead.name, None);
    }
}
