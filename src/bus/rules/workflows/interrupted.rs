//! Notices about workflows that lost their leader.

use super::lookups::named;
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::notice::{Notice, notice};
use crate::bus::state::{Session, Workflow};
use crate::domain::limits;
use crate::domain::name::Name;
use crate::domain::text::counted::noun;
use crate::domain::workflow::WorkflowStatus;

/// Notifies an orchestrator that leads from now on of the workflows without a leader.
pub(in crate::bus::rules) fn show_interrupted(writer: &mut Writer<'_>, lead: &Session) {
    let interrupted = writer.state.workflows().into_iter();
    let interrupted = interrupted.filter(|workflow| workflow.status == WorkflowStatus::Interrupted);
    let texts = limited(interrupted.map(interrupted_notice).collect());
    for text in texts {
        writer.notice(&lead.name, text);
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
    let texts = limited(workflows.map(interrupted_notice).collect());
    for text in texts {
        for name in recipients {
            writer.notice(name, text.clone());
        }
    }
}

/// Keeps the first notices of many, and adds one with the number of the others.
fn limited(mut texts: Vec<Notice>) -> Vec<Notice> {
    let more = texts.len().saturating_sub(limits::NOTICE_IDS);
    texts.truncate(limits::NOTICE_IDS);
    match more {
        0 => {}
        1 => texts.push(notice![
            "and 1 more workflow was interrupted; get_workflow_status lists \
            all"
        ]),
        more => texts.push(notice![
            "and ",
            more,
            " more workflows were interrupted; get_workflow_status lists all"
        ]),
    }
    texts
}

fn interrupted_notice(workflow: &Workflow) -> Notice {
    let steps = workflow.planned().count();
    let over = workflow.planned();
    let over = over.filter(|step| step.status.is_final()).count();
    let next = if workflow.is_trial {
        " finished: it was a trial with scripted agents, so only cancel_workflow ends it"
    } else {
        " finished: resume_workflow continues it, cancel_workflow ends it"
    };
    notice![
        named(workflow),
        " was interrupted with ",
        over,
        " of ",
        steps,
        noun(steps, " step", " steps"),
        next,
    ]
}
