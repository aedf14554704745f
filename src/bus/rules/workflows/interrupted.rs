//! Telling orchestrators which workflows have lost their leader.

use super::lookups::{leader, named};
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::notice::{Notice, notice};
use crate::bus::state::{Session, Workflow};
use crate::domain::ids::SessionId;
use crate::domain::limits;
use crate::domain::member::MemberKind;
use crate::domain::name::Name;
use crate::domain::workflow::WorkflowStatus;

/// Tells a newcomer that can lead which workflows nobody is at.
pub(in crate::bus::rules) fn show_interrupted(writer: &mut Writer<'_>, newcomer: SessionId) {
    let Ok(newcomer) = leader(writer, newcomer) else {
        return;
    };
    let interrupted = writer.state.workflows().into_iter();
    let interrupted = interrupted.filter(|workflow| workflow.status == WorkflowStatus::Interrupted);
    let texts = told_in_few(interrupted.map(told_interrupted).collect());
    for text in texts {
        writer.notice(&newcomer.name, text);
    }
}

/// Tells the other orchestrators which workflows somebody leaves.
pub(in crate::bus::rules) fn tell_left(writer: &mut Writer<'_>, leaving: &Session) {
    let sessions = writer.state.live_sessions().into_iter();
    let others = sessions
        .filter(|session| session.kind == MemberKind::Orchestrator && session.id != leaving.id);
    let others: Vec<_> = others.map(|session| session.name.clone()).collect();
    tell_interrupted(writer, leaving, &others);
}

/// Tells others which workflows somebody who hangs does not lead any more, and the session itself, for when it is back.
pub(in crate::bus::rules) fn tell_hung(
    writer: &mut Writer<'_>,
    hung: &Session,
    mut others: Vec<Name>,
) {
    others.push(hung.name.clone());
    tell_interrupted(writer, hung, &others);
}

fn tell_interrupted(writer: &mut Writer<'_>, leader: &Session, told: &[Name]) {
    let workflows = writer.state.workflows_of(leader.id);
    let texts = told_in_few(workflows.map(told_interrupted).collect());
    for text in texts {
        writer.notice_to_each(told, &text);
    }
}

/// Keeps the first of many notices, and counts the others in one more.
fn told_in_few(mut texts: Vec<Notice>) -> Vec<Notice> {
    let more = texts.len().saturating_sub(limits::NOTICE_IDS);
    texts.truncate(limits::NOTICE_IDS);
    match more {
        0 => {}
        1 => texts.push(notice!["and 1 more workflow is interrupted: get_workflow_status has all"]),
        more => texts.push(notice![
            "and ",
            more,
            " more workflows are interrupted: get_workflow_status has all"
        ]),
    }
    texts
}

fn told_interrupted(workflow: &Workflow) -> Notice {
    let over = workflow.planned();
    let over = over.filter(|step| step.status.is_final()).count();
    notice![
        named(workflow),
        " is interrupted with ",
        over,
        " of ",
        workflow.planned().count(),
        " steps over: resume_workflow goes on with it, cancel_workflow ends it",
    ]
}
