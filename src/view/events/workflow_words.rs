//! Workflows and their steps in words.

use super::Topic;
use super::said::Said;
use super::speaker::{after_colon, asker, quote};
use crate::bus::event::Event;
use crate::domain::ids::WorkflowId;
use crate::domain::text::counted::counted;
use crate::view::by_whom;

/// Returns what an event says about workflows.
pub(super) fn said(event: &Event) -> Option<Said> {
    let of = |id: &WorkflowId, words: String| {
        Some(Said::new(Topic::Workflow, words).with_ids([id.to_string()]))
    };
    match event {
        Event::WorkflowCreated(created) => {
            let (by, id) = (&created.by, &created.id);
            let steps = counted(created.steps.len(), "step");
            let said = of(id, format!("{by} starts {id} {} with {steps}", quote(&created.name)));
            said.map(|said| said.about([by.to_string()]))
        }
        Event::WorkflowResumed(resumed) => {
            let (by, id) = (&resumed.by, &resumed.id);
            of(id, format!("{by} resumes {id}")).map(|said| said.about([by.to_string()]))
        }
        Event::WorkflowCancelAsked { id, by, human } => {
            let by = asker(by, *human);
            of(id, format!("{} cancels {id}", by_whom(&by))).map(|said| said.about([by]))
        }
        Event::WorkflowEnded { id, status } => of(id, format!("{id} {}", status.phrase())),
        Event::StepAsked(step) => {
            of(&step.workflow, format!("step {} waits for approval", step.step))
        }
        Event::StepApproved(step) => {
            let by = asker(&step.by, step.human);
            let said = of(&step.workflow, format!("{} approves step {}", by_whom(&by), step.step));
            said.map(|said| said.about([by]))
        }
        Event::StepStarted(step) => {
            let said = of(&step.workflow, format!("step {} goes to {}", step.step, step.agent));
            let said = said.map(|said| said.about([step.agent.to_string()]));
            said.map(|said| said.with_ids([step.task.to_string()]))
        }
        Event::StepExpanded(step) => {
            let items = counted(step.count, "item");
            of(&step.workflow, format!("step {} has {items}", step.step))
        }
        Event::StepReturned(step) => {
            let why = after_colon(Some(&step.why));
            of(&step.workflow, format!("step {} begins again{why}", step.step))
        }
        Event::StepEnded(step) => {
            let why = after_colon(step.why.as_deref());
            of(&step.workflow, format!("step {} {}{why}", step.step, step.status.phrase()))
        }
        _ => None,
    }
}
