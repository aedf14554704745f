//! Finding workflows and steps, and checking that a session may lead.

use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::notice::{Notice, notice, quoted};
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::{Session, State, StepRun, Workflow};
use crate::domain::ids::{SessionId, WorkflowId};
use crate::domain::limits;
use crate::domain::member::MemberKind;
use crate::domain::name::Name;

pub(in crate::bus::rules) fn leader<'a>(
    writer: &Writer<'a>,
    me: SessionId,
) -> Result<&'a Session, Refusal> {
    let session = writer.session(me)?;
    if session.kind == MemberKind::Orchestrator { Ok(session) } else { Err(Refusal::CannotLead) }
}

pub(in crate::bus::rules) fn unended<'a>(
    state: &'a State,
    id: &WorkflowId,
) -> Result<&'a Workflow, Refusal> {
    let workflow = state.workflow(id).ok_or_else(|| Refusal::UnknownWorkflow { id: id.clone() })?;
    if workflow.status.is_final() {
        let (id, status) = (id.clone(), workflow.status);
        return Err(Refusal::WorkflowOver { id, status });
    }
    Ok(workflow)
}

pub(in crate::bus::rules) fn known_step<'a>(
    workflow: &'a Workflow,
    name: &Name,
) -> Result<&'a StepRun, Refusal> {
    workflow
        .step(name)
        .ok_or_else(|| Refusal::UnknownStep { id: workflow.id.clone(), step: name.clone() })
}

pub(in crate::bus::rules) fn led_by_another(workflow: &Workflow) -> Refusal {
    Refusal::LedByAnother { id: workflow.id.clone(), by: workflow.by.clone() }
}

pub(in crate::bus::rules) fn elsewhere(step: &StepRun) -> Refusal {
    Refusal::StepElsewhere { step: step.plan.name.clone(), status: step.status }
}

/// Names a workflow by its id and its author's name for it.
pub(in crate::bus::rules) fn named(workflow: &Workflow) -> Notice {
    let name = quoted(&workflow.name, limits::NOTICE_HEAD_CHARS);
    notice![workflow.id, " (", name, ")"]
}
