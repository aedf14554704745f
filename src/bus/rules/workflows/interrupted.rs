//! Notices about workflows that lost their leader.

use super::lookups::{leader, named};
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::notice::{Notice, notice};
use crate::bus::state::{Session, Workflow};
use crate::domain::ids::SessionId;
use crate::domain::limits;
use crate::domain::member::MemberKind;
use crate::domain::name::Name;
use crate::domain::text::counted::noun;
use crate::domain::workflow::WorkflowStatus;

/// Notifies a new orchestrator of the workflows without a leader.
pub(in crate::bus::rules) fn show_interrupted(writer: &mut Writer<'_>, newcomer: SessionId) {
    let Ok(newcomer) = leader(writer, newcomer) else {
        return;
    };
    let interrupted = writer.state.workflows().into_iter();
    let interrupted = interrupted.filter(|workflow| workflow.status == WorkflowStatus::Interrupted);
    let texts = limited(interrupted.map(interrupted_notice).collect());
    for text in texts {
        writer.notice(&newcomer.name, text);
    }
}

/// Notifies the other orchestrators of the workflows that a leaving session led.
pub(in crate::bus::rules) fn notify_left(writer: &mut Writer<'_>, leaving: &Session) {
    let sessions = writer.state.live_sessions().into_iter();
    let others = sessions
        .filter(|session| session.kind == MemberKind::Orchestrator && session.id != leaving.id);
    let others: Vec<_> = others.map(|session| session.name.clone()).collect();
    notify_interrupted(writer, leaving, &others);
}

/// Notifies other members of the workflows that a hung session led, and the session itself, for its return.
pub(in crate::bus::rules) fn notify_hung(
    writer: &mut Writer<'_>,
    hung: &Session,
    mut others: Vec<Name>,
) {
    others.push(hung.name.clone());
    notify_interrupted(writer, hung, &others);
}

fn notify_interrupted(writer: &mut Writer<'_>, leader: &Session, recipients: &[Name]) {
    let workflows = writer.state.workflows_of(leader.id);
    let texts = limited(workflows.map(interrupted_notice).collect());
    for text in texts {
        writer.notice_to_each(recipients, &text);
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
