//! Plans: what a caller wrote, checked before anything runs. Every problem is found at once, each with its place.

use std::collections::BTreeSet;
use std::fmt;

use super::template::{self, Part};
use crate::domain::limits;
use crate::domain::name::Name;
use crate::domain::nearest::nearest;
use crate::domain::workflow::{Approver, Gate, Repeat, Step};
use crate::team::Known;

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
    let mut shown: Vec<_> = problems
        .iter()
        .take(MOST_PROBLEMS)
        .map(ToString::to_string)
        .collect();
    if problems.len() > MOST_PROBLEMS {
        shown.push(format!(
            "and {} more problems",
            problems.len() - MOST_PROBLEMS
        ));
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
pub fn validate(draft: Draft, known: &Known) -> Result<Plan, Problems> {
    let mut check = Check::default();
    check.limits(&draft);
    // With so many steps the rest would take long and tell little.
    if draft.steps.len() > limits::MAX_STEPS {
        return Err(Problems(check.problems));
    }
    let names = check.names(&draft.steps);
    let mut steps = Vec::new();
    for (index, (draft, name)) in draft.steps.iter().zip(&names).enumerate() {
        // One that is not installed does no harm where another is named.
        let can_be_missing = !draft.fallback.is_empty();
        check.agent(place(index, "agent"), &draft.agent, known, can_be_missing);
        steps.push(Step {
            name: name.clone(),
            agent: draft.agent.clone(),
            model: draft.model.clone(),
            depends_on: check.known_steps(index, ("depends_on", &draft.depends_on), &names),
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
    for (index, draft) in draft.steps.iter().enumerate() {
        check.prompt(index, &draft.prompt, &steps);
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

/// What was found so far.
#[derive(Default)]
struct Check {
    problems: Vec<Problem>,
}

impl Check {
    fn add(&mut self, place: impl Into<String>, what: impl Into<String>) {
        self.problems.push(Problem {
            place: place.into(),
            what: what.into(),
        });
    }

    fn limits(&mut self, draft: &Draft) {
        let name = draft.name.trim();
        if name.is_empty() {
            self.add(
                "name",
                "it is empty: say in a few words what the workflow is for",
            );
        } else if name.chars().count() > limits::WORKFLOW_NAME_CHARS {
            let most = limits::WORKFLOW_NAME_CHARS;
            self.add("name", format!("it is longer than {most} characters"));
        }
        if name.chars().any(char::is_control) {
            self.add("name", "it is to be one line of plain text");
        }
        let (count, most) = (draft.steps.len(), limits::MAX_STEPS);
        if count == 0 {
            self.add("steps", "there are none");
        } else if count > most {
            self.add(
                "steps",
                format!("there are {count}; the limit is {most}: divide the workflow"),
            );
        }
        let dependencies: usize = draft.steps.iter().map(|step| step.depends_on.len()).sum();
        if dependencies > limits::MAX_DEPENDENCIES {
            let most = limits::MAX_DEPENDENCIES;
            self.add(
                "steps",
                format!("they have {dependencies} dependencies together; the limit is {most}"),
            );
        }
        let bytes: usize = draft.steps.iter().map(|step| step.prompt.len()).sum();
        if bytes > limits::MAX_PLAN_BYTES {
            let most = limits::MAX_PLAN_BYTES;
            self.add(
                "steps",
                format!(
                    "their prompts have {bytes} bytes together; the limit is {most}: put long texts into files of the project"
                ),
            );
        }
        for (index, step) in draft.steps.iter().enumerate() {
            if step.prompt.trim().is_empty() {
                self.add(place(index, "prompt"), "it is empty: say what to do");
            }
            if step
                .model
                .as_ref()
                .is_some_and(|model| model.len() > limits::MODEL_BYTES)
            {
                let most = limits::MODEL_BYTES;
                self.add(
                    place(index, "model"),
                    format!("it is longer than {most} bytes"),
                );
            }
            let seconds = 1..=limits::MAX_STEP_SECONDS;
            if let Some(given) = step
                .timeout_seconds
                .filter(|given| !seconds.contains(given))
            {
                let most = limits::MAX_STEP_SECONDS;
                self.add(
                    place(index, "timeout_seconds"),
                    format!("it is {given}; it must be 1 to {most}"),
                );
            }
        }
    }

    /// Names all steps: as they were named, and the others after their agents, by names that are still free.
    fn names(&mut self, steps: &[StepDraft]) -> Vec<Name> {
        let mut given: Vec<Option<Name>> = vec![None; steps.len()];
        let mut taken = BTreeSet::new();
        for (index, step) in steps.iter().enumerate() {
            let Some(text) = &step.name else { continue };
            match Name::parse(text) {
                Ok(name) if taken.insert(name.clone()) => given[index] = Some(name),
                Ok(name) => {
                    let what = format!("another step is called `{name}` already");
                    self.add(place(index, "name"), what);
                }
                Err(error) => self.add(place(index, "name"), error.to_string()),
            }
        }
        let mut names = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            let name = given[index].take().unwrap_or_else(|| {
                let like = Name::parse(&step.agent).or_else(|_| Name::parse("step"));
                free_name(&like.expect("`step` is a name"), &taken)
            });
            taken.insert(name.clone());
            names.push(name);
        }
        names
    }

    fn fallback(&mut self, index: usize, given: &[String], known: &Known) -> Vec<String> {
        if given.len() > limits::MAX_FALLBACKS {
            let (count, most) = (given.len(), limits::MAX_FALLBACKS);
            let what = format!("it names {count} agents; the limit is {most}");
            self.add(place(index, "fallback"), what);
            return Vec::new();
        }
        for (number, agent) in given.iter().enumerate() {
            let place = format!("steps[{index}].fallback[{number}]");
            self.agent(place, agent, known, number + 1 < given.len());
        }
        given.to_vec()
    }

    fn agent(&mut self, place: String, agent: &str, known: &Known, can_be_missing: bool) {
        let name = match Name::parse(agent) {
            Ok(name) => name,
            Err(error) => return self.add(place, error.to_string()),
        };
        if known.profiles.contains(&name) || known.agents.contains(&name) {
            return;
        }
        if let Some((_, reason)) = known.missing.iter().find(|(missing, _)| *missing == name) {
            if !can_be_missing {
                self.add(place, reason.clone());
            }
            return;
        }
        if known.others.contains(&name) {
            let what = format!(
                "`{name}` is not an agent that a bridge started: send_message asks it for help"
            );
            return self.add(place, what);
        }
        let candidates = known.profiles.iter().chain(&known.agents);
        let candidates: Vec<_> = candidates.map(Name::as_str).collect();
        let hint = match nearest(agent, &candidates).as_slice() {
            [] => format!("; there are {}", quoted(&candidates)),
            near => format!(": did you mean {}?", quoted(near)),
        };
        self.add(
            place,
            format!("`{name}` is neither a profile nor a live agent{hint}"),
        );
    }

    /// Finds the steps that a field names.
    fn known_steps(
        &mut self,
        index: usize,
        (field, given): (&str, &[String]),
        names: &[Name],
    ) -> Vec<Name> {
        let mut found: Vec<Name> = Vec::new();
        for (number, text) in given.iter().enumerate() {
            let place = format!("steps[{index}].{field}[{number}]");
            match names.iter().find(|name| is_called(name, text)) {
                None => {
                    let text: String = text.chars().take(limits::SHOWN_NAME_CHARS).collect();
                    let hint = match nearest(&text, names.iter().map(Name::as_str)).as_slice() {
                        [] => String::new(),
                        near => format!(": did you mean {}?", quoted(near)),
                    };
                    self.add(place, format!("no step is called `{text}`{hint}"));
                }
                // Said twice is said once.
                Some(name) if found.contains(name) => {}
                Some(name) => found.push(name.clone()),
            }
        }
        found
    }

    fn retries(&mut self, index: usize, given: Option<u64>) -> u32 {
        let given = given.unwrap_or(0);
        match u32::try_from(given) {
            Ok(retries) if retries <= limits::MAX_RETRIES => retries,
            _ => {
                let most = limits::MAX_RETRIES;
                self.add(
                    place(index, "retries"),
                    format!("it is {given}; it must be 0 to {most}"),
                );
                0
            }
        }
    }

    fn approver(&mut self, index: usize, given: Option<&str>) -> Option<Approver> {
        let given = given?;
        let approver = Approver::parse(given);
        if approver.is_none() {
            let shown: String = given.chars().take(limits::SHOWN_NAME_CHARS).collect();
            let what = format!("it is {shown:?}; it can only be \"human\"");
            self.add(place(index, "approve"), what);
        }
        approver
    }

    fn gate(&mut self, index: usize, draft: &StepDraft, known: &Known) -> Option<Gate> {
        let timeout_seconds = draft.gate_seconds.unwrap_or(limits::GATE_SECONDS);
        if !(1..=limits::MAX_STEP_SECONDS).contains(&timeout_seconds) {
            let most = limits::MAX_STEP_SECONDS;
            let what = format!("it is {timeout_seconds}; it must be 1 to {most}");
            self.add(place(index, "gate_seconds"), what);
        }
        let Some(program) = draft.gate.first() else {
            for (field, given) in [
                ("gate_seconds", draft.gate_seconds.is_some()),
                ("repeat", draft.repeat.is_some()),
            ] {
                if given {
                    self.add(place(index, field), "it needs a `gate`");
                }
            }
            return None;
        };
        let bytes: usize = draft.gate.iter().map(String::len).sum();
        if program.trim().is_empty() {
            self.add(place(index, "gate"), "it names no program");
        } else if bytes > limits::GATE_BYTES {
            let most = limits::GATE_BYTES;
            let what = format!("it has {bytes} bytes; the limit is {most}: put it into a script");
            self.add(place(index, "gate"), what);
        } else if let Some(what) = known.missing_program(program) {
            self.add(place(index, "gate"), what);
        }
        Some(Gate {
            command: draft.gate.clone(),
            timeout_seconds,
        })
    }

    fn repeat(&mut self, index: usize, draft: &StepDraft, names: &[Name]) -> Option<Repeat> {
        let Some(given) = draft.repeat else {
            if !draft.repeat_steps.is_empty() {
                self.add(place(index, "repeat_steps"), "it needs `repeat`");
            }
            return None;
        };
        if !(2..=limits::MAX_ROUNDS).contains(&given) {
            let most = limits::MAX_ROUNDS;
            let what = format!("it is {given}; it must be 2 to {most}");
            self.add(place(index, "repeat"), what);
        }
        let steps = self.known_steps(index, ("repeat_steps", &draft.repeat_steps), names);
        let times = u32::try_from(given).unwrap_or(u32::MAX);
        Some(Repeat { times, steps })
    }

    /// Only what comes before a step can be done again with it.
    fn rounds(&mut self, steps: &[Step]) {
        for (index, step) in steps.iter().enumerate() {
            let before = before(step, steps);
            for name in step.repeat.iter().flat_map(|repeat| &repeat.steps) {
                if !before.contains(name) {
                    let what = format!("`{name}` does not come before this step");
                    self.add(place(index, "repeat_steps"), what);
                }
            }
        }
    }

    /// Finds circles, each once and named in full.
    fn cycles(&mut self, steps: &[Step]) {
        let mut over = BTreeSet::new();
        for step in steps {
            let mut path = Vec::new();
            self.follow(step, steps, &mut path, &mut over);
        }
    }

    fn follow<'a>(
        &mut self,
        step: &'a Step,
        steps: &'a [Step],
        path: &mut Vec<&'a Name>,
        over: &mut BTreeSet<&'a Name>,
    ) {
        if over.contains(&step.name) {
            return;
        }
        if let Some(begin) = path.iter().position(|name| **name == step.name) {
            let mut circle: Vec<_> = path[begin..].iter().map(|name| name.as_str()).collect();
            circle.push(step.name.as_str());
            let what = format!(
                "they depend on each other in a circle: {}",
                circle.join(" → ")
            );
            return self.add("steps", what);
        }
        path.push(&step.name);
        for name in &step.depends_on {
            if let Some(next) = steps.iter().find(|step| step.name == *name) {
                self.follow(next, steps, path, over);
            }
        }
        path.pop();
        over.insert(&step.name);
    }

    fn prompt(&mut self, index: usize, prompt: &str, steps: &[Step]) {
        let place = place(index, "prompt");
        let (parts, problems) = template::parse(prompt);
        for problem in problems {
            self.add(&*place, problem);
        }
        let mut mentioned = Vec::new();
        for part in parts {
            if let Part::Value { step, .. } = part {
                mentioned.push(step);
            }
        }
        if mentioned.len() > limits::MAX_PLACEHOLDERS {
            let (count, most) = (mentioned.len(), limits::MAX_PLACEHOLDERS);
            self.add(
                &*place,
                format!("it has {count} placeholders; the limit is {most}"),
            );
        }
        let (me, before) = (&steps[index].name, before(&steps[index], steps));
        mentioned.sort();
        mentioned.dedup();
        for name in mentioned {
            let what = if !steps.iter().any(|step| step.name == name) {
                let near = nearest(name.as_str(), steps.iter().map(|step| step.name.as_str()));
                let hint = match near.as_slice() {
                    [] => String::new(),
                    near => format!(": did you mean {}?", quoted(near)),
                };
                format!("a placeholder names the step `{name}`, which is not there{hint}")
            } else if name == *me {
                "a placeholder names this very step, which has no output before it runs".to_owned()
            } else if before.contains(&name) {
                continue;
            } else {
                format!(
                    "a placeholder names the step `{name}`, on which this one does not depend: add it to depends_on"
                )
            };
            self.add(&*place, what);
        }
    }
}

/// Returns the names of all steps that a step depends on, directly or not.
fn before<'a>(step: &'a Step, steps: &'a [Step]) -> BTreeSet<&'a Name> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&Name> = step.depends_on.iter().collect();
    while let Some(name) = open.pop() {
        if found.insert(name) {
            let next = steps.iter().find(|step| step.name == *name);
            open.extend(next.iter().flat_map(|step| &step.depends_on));
        }
    }
    found
}

fn free_name(like: &Name, taken: &BTreeSet<Name>) -> Name {
    let numbered = (2..).map(|number| like.numbered(number));
    let mut candidates = std::iter::once(like.clone()).chain(numbered);
    candidates
        .find(|name| !taken.contains(name))
        .expect("there are more numbers than steps")
}

fn is_called(name: &Name, text: &str) -> bool {
    name.as_str().eq_ignore_ascii_case(text)
}

fn place(index: usize, field: &str) -> String {
    format!("steps[{index}].{field}")
}

fn quoted<S: AsRef<str>>(names: &[S]) -> String {
    let quoted: Vec<_> = names
        .iter()
        .map(|name| format!("`{}`", name.as_ref()))
        .collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests;
