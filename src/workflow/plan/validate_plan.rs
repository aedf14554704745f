//! Turns a draft into a plan. Every problem is found at once, so that the caller corrects the draft only once.

use super::check_draft::{Check, place};
use super::plan_draft::Draft;
use super::plan_problem::Problems;
use super::runnable_plan::Plan;
use crate::domain::limits;
use crate::domain::workflow::Step;
use crate::team::Candidates;

/// Turns a draft into a plan, or lists all its problems.
pub fn validate(draft: Draft, known: &Candidates) -> Result<Plan, Problems> {
    let mut check = Check::default();
    check.limits(&draft);
    // With so many steps the other checks would take long and help little.
    if draft.steps.len() > limits::MAX_STEPS {
        return Err(Problems(check.problems));
    }
    let names = check.names(&draft.steps);
    let mut steps = Vec::new();
    for (index, (draft, name)) in draft.steps.iter().zip(&names).enumerate() {
        let host = check.host(index, draft, known);
        // A missing program is no problem while another agent of the step is installed, or started by another host.
        let can_be_missing = host.is_elsewhere()
            || draft.fallback.iter().chain([&draft.agent]).any(|agent| !known.is_missing(agent));
        if !host.is_elsewhere() {
            check.agent(place(index, "agent"), &draft.agent, known, can_be_missing);
        }
        steps.push(Step {
            name: name.clone(),
            agent: draft.agent.clone(),
            model: draft.model.clone(),
            host: draft.host.clone(),
            depends_on: check.known_steps(index, ("depends_on", &draft.depends_on), &names),
            when: check.when(index, draft.when.as_deref()),
            for_each: check.for_each(index, draft),
            timeout_seconds: draft.timeout_seconds,
            retries: check.retries(index, draft.retries),
            fallback: check.fallback(index, &draft.fallback, (&host, known)),
            fresh: draft.fresh,
            approve: check.approver(index, draft.approve.as_deref()),
            gate: check.gate(index, draft, known),
            repeat: check.repeat(index, draft, &names),
        });
    }
    check.cycles(&steps);
    check.rounds(&steps);
    check.sources(&steps);
    for (index, draft) in draft.steps.iter().enumerate() {
        check.prompt(index, draft, &steps);
    }
    if !check.problems.is_empty() {
        return Err(Problems(check.problems));
    }
    Ok(Plan {
        name: draft.name,
        prompts: draft.steps.into_iter().map(|step| step.prompt).collect(),
        steps,
    })
}
