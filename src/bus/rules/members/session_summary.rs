//! One notice instead of many: an orchestrator's summary of the tasks that ended in its absence, or together with a bridge.
//!
//! The notices for a dead orchestrator go to the lead, whatever its name: the dead one comes back under another name, or not
//! at all. An orchestrator that left gracefully may return at any time. Its mail waits for it alone, except for the notices that
//! it inherited from a dead one.
//!
//! A summary names the tasks of the notices that it replaces (`ends`), so another summary can replace it while it is unread.
//!
//! A notice that was given once and is unread again, because nothing proved it, stays as it is: such as that of a task whose result
//! `claude -p` has shown. In a new summary it would be news to every later session.

use std::collections::{BTreeMap, BTreeSet};

use crate::bus::event::Event;
use crate::bus::rules::event_writer::{Told, Writer};
use crate::bus::rules::notice::{Notice, listed, notice};
use crate::bus::state::{Message, Session, State, Task};
use crate::domain::ids::{MessageId, SessionId};
use crate::domain::member::{Departure, MemberKind};
use crate::domain::name::Name;

/// Says whether an orchestrator that joins by this name needs a summary: it has several new notices of ended tasks, or inherits some.
pub fn is_needed(state: &State, name: &Name) -> bool {
    let notices = EndNotices::of(state);
    notices.news_to(state, name).nth(1).is_some() || notices.inherited(state).next().is_some()
}

/// Notifies the orchestrator that leads of the agents that ended with their bridge and of their ended tasks. It inherits the notices for
/// dead orchestrators.
pub(in crate::bus::rules) fn notify_lead(writer: &mut Writer<'_>, gone: &[Name]) {
    if let Some(lead) = writer.state.lead() {
        notify(writer, lead.id, gone);
    }
}

/// Lets the orchestrator that leads inherit the notices for dead orchestrators, unless it runs a plan.
pub(in crate::bus::rules) fn inherit(writer: &mut Writer<'_>) {
    let state = writer.state;
    if let Some(lead) = state.lead().filter(|lead| !lead.runs_plan()) {
        let notices = EndNotices::of(state);
        let inherited: Vec<_> = notices.inherited(state).collect();
        if !inherited.is_empty() {
            combine(writer, lead, &[], &inherited);
        }
    }
}

/// Replaces a session's new notices of ended tasks by one, if there are several. If it leads, it also inherits those for dead
/// orchestrators, as one notice more: if it ends without reading that one, the next lead inherits it. Notices without room in this append
/// wait for the next.
pub(in crate::bus::rules) fn notify(writer: &mut Writer<'_>, session: SessionId, gone: &[Name]) {
    let state = writer.state;
    let Some(reader) = state.session(session) else {
        return;
    };
    let notices = EndNotices::of(state);
    let own: Vec<_> = notices.news_to(state, &reader.name).collect();
    if own.len() > 1 || !gone.is_empty() {
        combine(writer, reader, gone, &own);
    }
    if state.is_lead(session) {
        inherit(writer);
    }
}

/// Posts one notice about ended agents and ended tasks, and withdraws the separate notices.
fn combine(writer: &mut Writer<'_>, reader: &Session, gone: &[Name], ends: &[End<'_>]) {
    if !writer.accepts_notice(&reader.name) {
        return;
    }
    let mut tasks = Vec::new();
    for end in ends {
        if writer.is_full() {
            break;
        }
        writer.push(Event::MessageSuperseded {
            id: end.message.id.clone(),
            members: vec![end.recipient.clone()].into(),
        });
        tasks.extend(end.tasks);
    }
    if tasks.is_empty() && gone.is_empty() {
        return;
    }
    let mut text = Notice::default();
    if !gone.is_empty() {
        let names = gone.iter().map(|name| notice![*name]).collect();
        text = text.and(&"ended with their bridge: ").and(&listed(names));
    }
    let ids = tasks.iter().map(|task: &&Task| task.id.clone());
    if !tasks.is_empty() {
        if !gone.is_empty() {
            text = text.and(&". ");
        }
        let tasks = tasks.iter().map(|task| {
            let by = if task.by == reader.name {
                Notice::default()
            } else {
                notice![" (assigned by ", task.by, ")"]
            };
            notice![task.id, " of ", task.agent, " ", task.status.phrase(), by]
        });
        text = text
            .and(&"ended tasks: ")
            .and(&listed(tasks.collect()))
            .and(&"; get_task_result has their output");
    }
    let ids = ids.collect();
    let name = reader.name.clone();
    let told = if gone.is_empty() { Told::Member(name) } else { Told::Lead(name) };
    writer.notice_of_ends(&told, ids, text);
}

/// An unread notice of the end of one or more tasks.
struct End<'a> {
    recipient: &'a Name,
    message: &'a Message,
    tasks: &'a [&'a Task],
}

/// The notices of ended tasks, each with its tasks in the order of their ends.
struct EndNotices<'a>(BTreeMap<&'a MessageId, Vec<&'a Task>>);

impl<'a> EndNotices<'a> {
    fn of(state: &'a State) -> Self {
        let mut notices: BTreeMap<_, Vec<&Task>> = BTreeMap::new();
        for task in state.tasks.values() {
            if let Some(notice) = &task.notice {
                notices.entry(notice).or_default().push(task);
            }
        }
        for tasks in notices.values_mut() {
            tasks.sort_by_key(|task| task.ended_ms);
        }
        Self(notices)
    }

    /// Returns the notices of ended tasks in the inbox of a name.
    fn unread_by<'b>(&'b self, state: &'b State, name: &'b Name) -> impl Iterator<Item = End<'b>> {
        state.unread(name).filter_map(move |message| {
            let tasks = self.0.get(&message.id)?;
            Some(End { recipient: name, message, tasks })
        })
    }

    /// Returns those of them that this member was not given before.
    fn news_to<'b>(&'b self, state: &'b State, name: &'b Name) -> impl Iterator<Item = End<'b>> {
        self.unread_by(state, name).filter(move |end| !end.message.is_returned_to(name))
    }

    /// Returns the unread notices of ended tasks for dead orchestrators, and those that an orchestrator inherited before it left.
    fn inherited<'b>(&'b self, state: &'b State) -> impl Iterator<Item = End<'b>> {
        let mut known = BTreeSet::new();
        let last = state.departed().rev();
        let last = last.filter(move |left| known.insert(&left.name));
        let absent = last.filter(|left| {
            left.kind == MemberKind::Orchestrator && state.live(&left.name).is_none()
        });
        absent.flat_map(move |left| {
            let ends = self.unread_by(state, &left.name);
            ends.filter(move |end| {
                let is_anothers = |task: &&Task| task.by != left.name;
                left.departure == Departure::Dead || end.tasks.iter().any(is_anothers)
            })
        })
    }
}
