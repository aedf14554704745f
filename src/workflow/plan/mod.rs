//! Plans: what a caller wrote, checked before anything runs. Every problem is found at once, each with its place.

mod validate_plan;

use std::collections::BTreeSet;
use std::fmt;

use self::validate_plan::{Check, place};
use crate::domain::limits;
use crate::domain::name::Name;
use crate::domain::workflow::Step;
use crate::team::Candidates;

/// Problems that one refusal lists before it only counts the rest.
const MOST_PROBLEMS: usize = 40;

/// A step as it was written.
#[derive(Clone, Debug, Default)]
pub struct StepDraft {
    /// Its name; else it is called after its agent.
    pub name: Option<String>,
    /// A profile, or a live agent.
    pub agent: String,
    /// What to do, with placeholders.
    pub prompt: String,
    /// The model to use.
    pub model: Option<String>,
    /// The names of the steps that have to be done before.
    pub depends_on: Vec<String>,
    /// A condition on a step before; if it does not hold, this one is not needed.
    pub when: Option<String>,
    /// The list in the output of a step before, for each item of which this one is done.
    pub for_each: Option<String>,
    /// How long an attempt may take.
    pub timeout_seconds: Option<u64>,
    /// How often it is tried again.
    pub retries: Option<u64>,
    /// Who is tried next when the one before is missing, out of quota, or has crashed.
    pub fallback: Vec<String>,
    /// Whether each attempt begins a new session of the agent.
    pub fresh: bool,
    /// Who has to approve before it begins.
    pub approve: Option<String>,
    /// A program and its arguments that must succeed once the task is done.
    pub gate: Vec<String>,
    /// How long that may take.
    pub gate_seconds: Option<u64>,
    /// How often the step is done at the most until its gate holds.
    pub repeat: Option<u64>,
    /// The steps before it that are done again with it.
    pub repeat_steps: Vec<String>,
}

/// A workflow as it was written.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// What it is called, for people.
    pub name: String,
    /// The steps in any order.
    pub steps: Vec<StepDraft>,
}

/// A workflow that can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What it is called.
    pub name: String,
    /// The steps, in the order in which they were written.
    pub steps: Vec<Step>,
    /// Their prompts, in the same order.
    pub prompts: Vec<String>,
}

/// Something that is wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, as `steps[1].agent`; empty for the plan as a whole.
    pub place: String,
    /// What, and what would be right.
    pub what: String,
}

/// All that is wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the workflow was not created: {}", listed(.0))]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() {
            f.write_str(&self.what)
        } else {
            write!(f, "{}: {}", self.place, self.what)
        }
    }
}

fn listed(problems: &[Problem]) -> String {
    let mut shown: Vec<_> = problems.iter().take(MOST_PROBLEMS).map(ToString::to_string).collect();
    if problems.len() > MOST_PROBLEMS {
        shown.push(format!("and {} more problems", problems.len() - MOST_PROBLEMS));
    }
    shown.join("; ")
}

impl Plan {
    /// Returns the steps in the order in which they can run: each group needs only those before it, so its steps can run at once.
    pub fn order(&self) -> Vec<Vec<Name>> {
        let mut done = BTreeSet::new();
        let mut order = Vec::new();
        loop {
            let waiting = self.steps.iter().filter(|step| !done.contains(&step.name));
            let group: Vec<_> = waiting
                .filter(|step| step.depends_on.iter().all(|name| done.contains(name)))
                .map(|step| step.name.clone())
                .collect();
            if group.is_empty() {
                return order;
            }
            done.extend(group.iter().cloned());
            order.push(group);
        }
    }
}

/// Makes a plan of a draft, or lists all that is wrong with it.
pub fn validate(draft: Draft, known: &Candidates) -> Result<Plan, Problems> {
    let mut check = Check::default();
    check.limits(&draft);
    // With so many steps the rest would take long and tell little.
    if draft.steps.len() > limits::MAX_STEPS {
        return Err(Problems(check.problems));
    }
    let names = check.names(&draft.steps);
    let mut steps = Vec::new();
    for (index, (draft, name)) in draft.steps.iter().zip(&names).enumerate() {
        // One that is not installed does no harm where another is.
        let can_be_missing =
            draft.fallback.iter().chain([&draft.agent]).any(|agent| !known.is_missing(agent));
        check.agent(place(index, "agent"), &draft.agent, known, can_be_missing);
        steps.push(Step {
            name: name.clone(),
            agent: draft.agent.clone(),
            model: draft.model.clone(),
            depends_on: check.known_steps(index, ("depends_on", &draft.depends_on), &names),
            when: check.when(index, draft.when.as_deref()),
            for_each: check.for_each(index, draft),
            timeout_seconds: draft.timeout_seconds,
            retries: check.retries(index, draft.retries),
            fallback: check.fallback(index, &draft.fallback, known),
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

pub(crate) mod evaluate_condition;
pub(crate) mod placeholders;
#[cfg(test)]
mod tests;
pub mod toml_plan;
