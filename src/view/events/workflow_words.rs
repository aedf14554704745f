//! Workflows and their steps in words.

use super::Topic;
use super::said::Said;
use super::speaker::{after_colon, asker, quote};
use crate::bus::event::Event;
use crate::bus::state::State;
use crate::domain::ids::WorkflowId;
use crate::domain::name::Name;
use crate::domain::text::counted::counted;
use crate::view::by_whom;

/// Returns what an event says about workflows.
pub(super) fn said(event: &Event, state: &State) -> Option<Said> {
    let of = |id: &WorkflowId, words: String| {
        Some(Said::new(Topic::Workflow, words).with_ids([id.to_string()]))
    };
    // Workflows that go on at once may have steps of one name.
    let step_of = |id: &WorkflowId, step: &Name| {
        let name = state.workflow(id).map(|workflow| quote(&workflow.name));
        format!("step {step} of {}", name.unwrap_or_else(|| id.to_string()))
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
            let which = step_of(&step.workflow, &step.step);
            of(&step.workflow, format!("{which} waits for approval"))
        }
        Event::StepApproved(step) => {
            let by = asker(&step.by, step.human);
            let which = step_of(&step.workflow, &step.step);
            let said = of(&step.workflow, format!("{} approves {which}", by_whom(&by)));
            said.map(|said| said.about([by]))
        }
        Event::StepStarted(step) => {
            let which = step_of(&step.workflow, &step.step);
            let said = of(&step.workflow, format!("{which} goes to {}", step.agent));
            let said = said.map(|said| said.about([step.agent.to_string()]));
            said.map(|said| said.with_ids([step.task.to_string()]))
        }
        Event::StepExpanded(step) => {
            let items = counted(step.count, "item");
            of(&step.workflow, format!("{} has {items}", step_of(&step.workflow, &step.step)))
        }
        Event::StepReturned(step) => {
            let why = after_colon(Some(&step.why));
            let which = step_of(&step.workflow, &step.step);
            of(&step.workflow, format!("{which} begins again{why}"))
        }
        Event::StepEnded(step) => {
            let why = after_colon(step.why.as_deref());
            let which = step_of(&step.workflow, &step.step);
            of(&step.workflow, format!("{which} {}{why}", step.status.phrase()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::event::{Body, Created, StepAsked};
    use crate::bus::storage::LogPosition;
    use crate::domain::ids::SessionId;
    use crate::view::tests::entry;

    #[test]
    fn a_step_is_named_with_its_workflow() {
        let name = |text: &str| Name::parse(text).unwrap();
        let created = Event::WorkflowCreated(Created {
            id: WorkflowId::from_bits(1),
            name: "the release".to_owned(),
            by: name("run"),
            owner: SessionId(uuid::Uuid::nil()),
            steps: Vec::new(),
            prompts: Body::Text("[]".to_owned()),
            plan_file: None,
            is_trial: false,
        });
        let mut state = State::default();
        state.apply(&entry(1, created), &[0], LogPosition::default());
        let asked = |workflow: WorkflowId| {
            let event = Event::StepAsked(StepAsked { workflow, step: name("publish") });
            said(&event, &state).unwrap().words
        };
        assert_eq!(
            asked(WorkflowId::from_bits(1)),
            "step publish of \"the release\" waits for approval"
        );
        let forgotten = WorkflowId::from_bits(2);
        let words = format!("step publish of {forgotten} waits for approval");
        assert_eq!(asked(forgotten), words);
    }
}
