//! One notice in the place of many: what an orchestrator is told of tasks that ended while it was away, or together with a bridge.
//!
//! What a dead orchestrator would be told of its tasks is told to whoever leads next, whatever its name: the dead one comes back under
//! another name, or not at all. One that has left in good order may be back any time, and its mail waits for it alone.

use std::collections::BTreeSet;

use super::notice::{Notice, notice};
use super::writer::Writer;
use crate::bus::event::Event;
use crate::bus::state::{Message, State};
use crate::domain::id::SessionId;
use crate::domain::limits;
use crate::domain::member::{Departure, MemberKind};
use crate::domain::message::{Author, MessageKind};
use crate::domain::name::Name;

/// Says whether an orchestrator that takes up a name has so many notices of ended tasks that one says more, or any of a dead one's.
pub fn is_wanted(state: &State, name: &Name) -> bool {
    ends(state, name).nth(1).is_some() || inherited(state).next().is_some()
}

/// Whether a session is told of the tasks of dead orchestrators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heir {
    Yes,
    No,
}

/// Tells the orchestrators that are there of the agents that ended with their bridge, and of all tasks that have ended; one of them
/// of those of dead ones.
pub(super) fn tell_all(writer: &mut Writer<'_>, gone: &[Name]) {
    let live = writer.state.live_sessions().into_iter();
    let orchestrators = live.filter(|session| session.kind == MemberKind::Orchestrator);
    let orchestrators: Vec<_> = orchestrators.collect();
    let at_work = orchestrators.iter().find(|session| !session.hung);
    let heir = at_work.or(orchestrators.first()).map(|session| session.id);
    for session in orchestrators {
        let is_heir = if heir == Some(session.id) {
            Heir::Yes
        } else {
            Heir::No
        };
        tell(writer, session.id, gone, is_heir);
    }
}

/// Puts one notice in the place of those about ended tasks that a session has not read, where there are several. Those for which the
/// append has no room stay as they are, for the next one.
pub(super) fn tell(writer: &mut Writer<'_>, session: SessionId, gone: &[Name], heir: Heir) {
    let state = writer.state;
    let Some(reader) = state.session(session) else {
        return;
    };
    let own = ends(state, &reader.name).map(|message| (&reader.name, message));
    let own: Vec<_> = own.collect();
    let inherited: Vec<_> = match heir {
        Heir::Yes => inherited(state).collect(),
        Heir::No => Vec::new(),
    };
    if own.len() < 2 && inherited.is_empty() && gone.is_empty() {
        return;
    }
    let mut ends = [own, inherited].concat();
    let has_room = |(told, message): &(&Name, &Message)| {
        let has_room = !writer.is_full();
        if has_room {
            writer.push(Event::MessageSuperseded {
                id: message.id.clone(),
                members: vec![(*told).clone()].into(),
            });
        }
        has_room
    };
    ends.truncate(ends.iter().copied().take_while(has_room).count());
    if ends.is_empty() && gone.is_empty() {
        return;
    }
    let mut told = Notice::default();
    if !gone.is_empty() {
        let names = gone.iter().map(|name| notice![*name]).collect();
        told = told.and(&"gone with their bridge: ").and(&listed(names));
    }
    if !ends.is_empty() {
        if !gone.is_empty() {
            told = told.and(&". ");
        }
        let tasks = ends.iter().filter_map(|(told, message)| {
            let task = state.task(message.task.as_ref()?)?;
            let by = match *told {
                own if *own == reader.name => Notice::default(),
                dead => notice![" (assigned by ", *dead, ")"],
            };
            Some(notice![
                task.id,
                " of ",
                task.agent,
                " ",
                task.status.told(),
                by
            ])
        });
        told = told
            .and(&"tasks that have ended: ")
            .and(&listed(tasks.collect()))
            .and(&"; get_task_result has what was said in each");
    }
    writer.notice(&reader.name, told);
}

/// Returns the unread notices of a name that tell of the end of a task.
fn ends<'a>(state: &'a State, name: &Name) -> impl Iterator<Item = &'a Message> {
    state.unread(name).filter(|message| {
        let task = message.task.as_ref().and_then(|id| state.task(id));
        message.kind == MessageKind::Notice
            && message.from == Author::Bridge
            && task.is_some_and(|task| task.notice.as_ref() == Some(&message.id))
    })
}

/// Returns the unread notices of ended tasks that wait for orchestrators that are dead, each with the name that it waits for.
fn inherited(state: &State) -> impl Iterator<Item = (&Name, &Message)> {
    let mut known = BTreeSet::new();
    let last = state.departed().rev();
    let last = last.filter(move |left| known.insert(&left.name));
    let dead = last.filter(|left| {
        left.departure == Departure::Dead
            && left.kind == MemberKind::Orchestrator
            && state.live(&left.name).is_none()
    });
    dead.flat_map(|dead| ends(state, &dead.name).map(|message| (&dead.name, message)))
}

/// Lists some, and counts the rest.
fn listed(all: Vec<Notice>) -> Notice {
    let more = all.len().saturating_sub(limits::NOTICE_IDS);
    let shown = all.len() - more;
    let mut text = Notice::default();
    for (index, one) in all.into_iter().take(shown).enumerate() {
        text = if index == 0 { text } else { text.and(&", ") };
        text = text.and(&one);
    }
    if more > 0 {
        text = text.and(&" and ").and(&more).and(&" more");
    }
    text
}
