//! Approves a step of a workflow that waits for its user, or refuses it.

use super::{Ended, Outcome, Patience, Steering};
use crate::bus::rules::{Approval, HumanWish};
use crate::bus::state::State;
use crate::cli::{Failure, with_hint};
use crate::domain::ids::WorkflowId;
use crate::domain::name::Name;
use crate::domain::text::counted::counted;
use crate::domain::wait_times;
use crate::domain::workflow::{StepOf, StepStatus};

/// The step to approve: one of a workflow's, or the only one that asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepChoice {
    pub(crate) workflow: WorkflowId,
    pub(crate) step: Option<Name>,
}

impl Steering {
    /// Approves a step, or refuses it, and waits until its leader has taken note.
    pub(crate) async fn approve(
        &self,
        choice: &StepChoice,
        approval: Approval,
        patience: Patience,
    ) -> Result<Outcome, Failure> {
        let step = self.look(|state| chosen(state, choice))?;
        let (act, is_given) = match &approval {
            Approval::Given => ("allow", true),
            Approval::Refused(_) => ("deny", false),
        };
        self.wish(HumanWish::Approve(step.clone(), approval)).await?;
        let subject = format!("{}/{}", step.workflow, step.step);
        let name = &step.step;
        if !is_given {
            let words = format!("the step `{name}` is refused and does not run");
            return Ok(Outcome::new(act, &subject, Ended::Done).saying("cancelled", words));
        }
        let leader =
            self.look(|state| state.workflow(&step.workflow).and_then(|found| found.owner));
        let approved = format!("the step `{name}` is approved");
        if leader.is_none_or(|leader| !self.is_held(leader)) {
            let words = format!(
                "{approved}, but nothing leads its workflow now: it goes on once the workflow is \
                    resumed (`cli-team-bridge run --resume {}`)",
                step.workflow
            );
            return Ok(Outcome::new(act, &subject, Ended::Pending).saying("approved", words));
        }
        let begun = match patience {
            Patience::None => None,
            Patience::Waits => {
                self.until(wait_times::WISH_TAKEN, |state| {
                    let run = state.workflow(&step.workflow)?.step(name)?;
                    (!matches!(run.status, StepStatus::Waiting | StepStatus::Asking))
                        .then_some(run.status)
                })
                .await?
            }
        };
        let (status, words) = match begun {
            Some(status) => (status.as_str(), format!("{approved} and {}", status.phrase())),
            None => ("approved", approved),
        };
        Ok(Outcome::new(act, &subject, Ended::Done).saying(status, words))
    }
}

/// Returns the step that is meant. The rules check that it asks.
fn chosen(state: &State, choice: &StepChoice) -> Result<StepOf, Failure> {
    let of = |step: &Name| StepOf { workflow: choice.workflow.clone(), step: step.clone() };
    if let Some(step) = &choice.step {
        return Ok(of(step));
    }
    let id = &choice.workflow;
    let Some(workflow) = state.workflow(id) else {
        let what = format!("there is no workflow `{id}`, or it is too old to be found");
        return Err(with_hint(what, "`cli-team-bridge workflows` lists the workflows"));
    };
    let asking = workflow.steps.iter().filter(|step| step.status == StepStatus::Asking);
    let asking: Vec<_> = asking.map(|step| &step.plan.name).collect();
    match asking.as_slice() {
        [step] => Ok(of(step)),
        [] => {
            let how = workflow.status.phrase();
            Err(format!("no step of `{id}` waits for approval; the workflow {how}").into())
        }
        several => {
            let count = counted(several.len(), "step");
            let names: Vec<_> = several.iter().map(|name| format!("{id}/{name}")).collect();
            let what = format!("{count} of `{id}` wait for approval: {}", names.join(", "));
            Err(with_hint(what, "name one of them"))
        }
    }
}
