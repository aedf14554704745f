//! One notice in the place of many: what an orchestrator is told of tasks that ended while it was away, or together with a bridge.

use super::notice::{Notice, notice};
use super::writer::Writer;
use crate::bus::event::Event;
use crate::bus::state::{Message, State};
use crate::domain::id::SessionId;
use crate::domain::limits;
use crate::domain::member::MemberKind;
use crate::domain::message::{Author, MessageKind};
use crate::domain::name::Name;

/// Says whether a name has so many notices of ended tasks that one says more.
pub(super) fn is_wanted(state: &State, name: &Name) -> bool {
    ends(state, name).nth(1).is_some()
}

/// Tells the orchestrators that are there of the agents that ended with their bridge, and of all tasks that have ended.
pub(super) fn tell_all(writer: &mut Writer<'_>, gone: &[Name]) {
    let live = writer.state.live_sessions().into_iter();
    let orchestrators = live.filter(|session| session.kind == MemberKind::Orchestrator);
    for session in orchestrators {
        tell(writer, session.id, gone);
    }
}

/// Puts one notice in the place of those about ended tasks that a session has not read, where there are several.
pub(super) fn tell(writer: &mut Writer<'_>, session: SessionId, gone: &[Name]) {
    let state = writer.state;
    let Some(reader) = state.session(session) else {
        return;
    };
    let ends: Vec<_> = ends(state, &reader.name).collect();
    if ends.len() < 2 && gone.is_empty() {
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
        let tasks = ends.iter().filter_map(|message| {
            let task = state.task(message.task.as_ref()?)?;
            let status = task.status.told();
            Some(notice![task.id, " of ", task.agent, " ", status])
        });
        told = told
            .and(&"tasks that have ended: ")
            .and(&listed(tasks.collect()))
            .and(&"; get_task_result has what was said in each");
    }
    for message in ends {
        writer.push(Event::MessageSuperseded {
            id: message.id.clone(),
            members: vec![reader.name.clone()].into(),
        });
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
