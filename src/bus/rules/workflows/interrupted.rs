//! Notices about workflows that lost their leader.

use super::lookups::named;
use crate::bus::event::Event;
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::notice::{Notice, notice};
use crate::bus::state::{Session, Workflow};
use crate::domain::ids::WorkflowId;
use crate::domain::limits;
use crate::domain::messaging::Author;
use crate::domain::name::Name;
use crate::domain::text::counted::noun;
use crate::domain::workflow::WorkflowStatus;

/// What the notice is about that counts the workflows without a notice of their own.
const OTHERS: &str = "workflows";

/// Notifies an orchestrator that leads from now on of the workflows without a leader. Notices that an earlier session of its name has not
/// read say nothing else, and go.
pub(in crate::bus::rules) fn show_interrupted(writer: &mut Writer<'_>, lead: &Session) {
    withdraw_unread(writer, &lead.name);
    let interrupted = writer.state.workflows().into_iter();
    let interrupted = interrupted.filter(|workflow| workflow.status == WorkflowStatus::Interrupted);
    let notices = limited(interrupted.map(interrupted_notice).collect());
    for (about, text) in notices {
        writer.notice_of(&lead.name, about, text);
    }
}

/// Withdraws the unread notices to a member about workflows that are interrupted still.
fn withdraw_unread(writer: &mut Writer<'_>, name: &Name) {
    let state = writer.state;
    let is_interrupted = |about: &str| {
        let id = WorkflowId::parse(about).ok();
        let workflow = id.and_then(|id| state.workflow(&id));
        about == OTHERS || workflow.is_some_and(|one| one.status == WorkflowStatus::Interrupted)
    };
    let unread = state.unread(name).filter(|message| {
        let about = message.more.as_ref().and_then(|more| more.reference.as_deref());
        message.from == Author::Bridge && about.is_some_and(is_interrupted)
    });
    for id in unread.map(|message| message.id.clone()).collect::<Vec<_>>() {
        let members = vec![name.clone()].into();
        writer.push(Event::MessageSuperseded { id, members });
    }
}

/// Notifies the lead of the workflows that a leaving session led. If that was the lead itself, the next one is told of all anyway.
pub(in crate::bus::rules) fn notify_left(writer: &mut Writer<'_>, leaving: &Session) {
    let lead = other_lead(writer, leaving);
    notify_interrupted(writer, leaving, &lead.into_iter().collect::<Vec<_>>());
}

/// Notifies the lead of the workflows that a hung session led, and the session itself, for its return.
pub(in crate::bus::rules) fn notify_hung(writer: &mut Writer<'_>, hung: &Session) {
    let lead = other_lead(writer, hung);
    let told: Vec<_> = lead.into_iter().chain([hung.name.clone()]).collect();
    notify_interrupted(writer, hung, &told);
}

/// Returns the name of the lead, unless that is this session.
fn other_lead(writer: &Writer<'_>, session: &Session) -> Option<Name> {
    let lead = writer.lead().filter(|lead| lead.id != session.id);
    lead.map(|lead| lead.name.clone())
}

fn notify_interrupted(writer: &mut Writer<'_>, leader: &Session, recipients: &[Name]) {
    let workflows = writer.state.workflows_of(leader.id);
    let notices = limited(workflows.map(interrupted_notice).collect());
    for (about, text) in notices {
        for name in recipients {
            writer.notice_of(name, about.clone(), text.clone());
        }
    }
}

/// Keeps the first notices of many, and adds one with the number of the others.
fn limited(mut notices: Vec<(String, Notice)>) -> Vec<(String, Notice)> {
    let more = notices.len().saturating_sub(limits::NOTICE_IDS);
    notices.truncate(limits::NOTICE_IDS);
    let others = match more {
        0 => return notices,
        1 => notice!["and 1 more workflow was interrupted; get_workflow_status lists all"],
        more => {
            notice!["and ", more, " more workflows were interrupted; get_workflow_status lists all"]
        }
    };
    notices.push((OTHERS.to_owned(), others));
    notices
}

/// Returns what a notice is about, and the notice.
fn interrupted_notice(workflow: &Workflow) -> (String, Notice) {
    let steps = workflow.planned().count();
    let over = workflow.planned();
    let over = over.filter(|step| step.status.is_final()).count();
    let next = if workflow.is_trial {
        " finished: it was a trial with scripted agents, so only cancel_workflow ends it"
    } else {
        " finished: resume_workflow continues it, cancel_workflow ends it"
    };
    let text = notice![
        named(workflow),
        " was interrupted with ",
        over,
        " of ",
        steps,
        noun(steps, " step", " steps"),
        next,
    ];
    (workflow.id.to_string(), text)
}
