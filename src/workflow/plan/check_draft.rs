//! The checks of a draft. Each adds the problems that it finds.

use std::collections::BTreeSet;

use super::evaluate_condition;
use super::placeholders::{self, Part};
use super::plan_draft::{Draft, StepDraft};
use super::plan_problem::Problem;
use super::step_host::StepHost;
use crate::domain::limits;
use crate::domain::name::{MAX_NAME_BYTES, Name};
use crate::domain::text::suggest::nearest;
use crate::domain::wait_times;
use crate::domain::workflow::{Approver, Field, Gate, Repeat, Step, StepReference, When};
use crate::team::{Candidates, role_of};

/// The correct form of a list reference.
const LIST_FORM: &str = "write `steps.NAME.json` or `steps.NAME.json.FIELD`, which must be a list";

/// The problems found so far.
#[derive(Default)]
pub(super) struct Check {
    pub(super) problems: Vec<Problem>,
}

impl Check {
    pub(super) fn add(&mut self, place: impl Into<String>, what: impl Into<String>) {
        self.problems.push(Problem { place: place.into(), what: what.into() });
    }

    pub(super) fn limits(&mut self, draft: &Draft) {
        let name = draft.name.trim();
        if name.is_empty() {
            self.add("name", "it is empty: describe the workflow in a few words");
        } else if name.chars().count() > limits::WORKFLOW_NAME_CHARS {
            let most = limits::WORKFLOW_NAME_CHARS;
            self.add("name", format!("it is longer than {most} characters"));
        }
        if name.chars().any(char::is_control) {
            self.add("name", "it must be one line of plain text");
        }
        let (count, most) = (draft.steps.len(), limits::MAX_STEPS);
        if count == 0 {
            self.add("steps", "there are none: a workflow needs at least one");
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
                format!("they have {dependencies} dependencies in total; the limit is {most}"),
            );
        }
        let bytes: usize = draft.steps.iter().map(|step| step.prompt.len()).sum();
        if bytes > limits::MAX_PLAN_BYTES {
            let most = limits::MAX_PLAN_BYTES;
            self.add(
                "steps",
                format!(
                    "their prompts have {bytes} bytes in total; the limit is {most}: put long \
                        texts into files of the project"
                ),
            );
        }
        for (index, step) in draft.steps.iter().enumerate() {
            if step.prompt.trim().is_empty() {
                self.add(place(index, "prompt"), "it is empty: say what to do");
            }
            if step.model.as_ref().is_some_and(|model| model.len() > limits::MODEL_BYTES) {
                let most = limits::MODEL_BYTES;
                self.add(place(index, "model"), format!("it is longer than {most} bytes"));
            }
            let seconds = 1..=wait_times::MAX_STEP_SECONDS;
            if let Some(given) = step.timeout_seconds.filter(|given| !seconds.contains(given)) {
                let most = wait_times::MAX_STEP_SECONDS;
                self.add(
                    place(index, "timeout_seconds"),
                    format!("it is {given}; it must be 1 to {most}"),
                );
            }
        }
    }

    /// Names all steps: by their given names, and the others after their agents, with a number if that name is taken.
    pub(super) fn names(&mut self, steps: &[StepDraft]) -> Vec<Name> {
        let mut given: Vec<Option<Name>> = vec![None; steps.len()];
        let mut taken = BTreeSet::new();
        for (index, step) in steps.iter().enumerate() {
            let Some(text) = &step.name else { continue };
            match Name::parse(text) {
                Ok(name) if taken.insert(name.clone()) => given[index] = Some(name),
                Ok(name) => {
                    let what = format!("another step is already named `{name}`");
                    self.add(place(index, "name"), what);
                }
                Err(error) => self.add(place(index, "name"), error.to_string()),
            }
        }
        let mut names = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            let name = given[index].take().unwrap_or_else(|| {
                let agent = step.agent.strip_prefix('@').unwrap_or(&step.agent);
                let like = Name::parse(agent).or_else(|_| Name::parse("step"));
                free_name(&like.expect("`step` is a name"), &taken)
            });
            taken.insert(name.clone());
            names.push(name);
        }
        names
    }

    pub(super) fn fallback(
        &mut self,
        index: usize,
        given: &[String],
        (host, known): (&StepHost, &Candidates),
    ) -> Vec<String> {
        if given.len() > limits::MAX_FALLBACKS {
            let (count, most) = (given.len(), limits::MAX_FALLBACKS);
            let what = format!("it names {count} agents; the limit is {most}");
            self.add(place(index, "fallback"), what);
            return Vec::new();
        }
        for (number, agent) in given.iter().enumerate() {
            if host.has(agent) {
                continue;
            }
            let place = format!("steps[{index}].fallback[{number}]");
            // If none of a step's programs is installed, the problem of its agent says so.
            self.agent(place, agent, known, true);
        }
        given.to_vec()
    }

    pub(super) fn agent(
        &mut self,
        place: String,
        agent: &str,
        known: &Candidates,
        can_be_missing: bool,
    ) {
        if let Some(role) = role_of(agent) {
            if let Some(problem) = known.problem_with_role(&role) {
                return self.add(place, problem.to_string());
            }
            if let Some(reason) = known.missing_for_role(&role).filter(|_| !can_be_missing) {
                self.add(place, reason);
            }
            return;
        }
        let Ok(name) = Name::parse(agent) else {
            return self.add(place, known.unknown(agent).to_string());
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
            let what =
                format!("`{name}` is not an agent started by a bridge: ask it with send_message");
            return self.add(place, what);
        }
        self.add(place, known.unknown(agent).to_string());
    }

    /// Finds the steps that a field names.
    pub(super) fn known_steps(
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
                    self.add(place, format!("no step is named `{text}`{hint}"));
                }
                // A name given twice counts once.
                Some(name) if found.contains(name) => {}
                Some(name) => found.push(name.clone()),
            }
        }
        found
    }

    pub(super) fn retries(&mut self, index: usize, given: Option<u64>) -> u32 {
        let given = given.unwrap_or(0);
        match u32::try_from(given) {
            Ok(retries) if retries <= limits::MAX_RETRIES => retries,
            _ => {
                let most = limits::MAX_RETRIES;
                self.add(place(index, "retries"), format!("it is {given}; it must be 0 to {most}"));
                0
            }
        }
    }

    pub(super) fn approver(&mut self, index: usize, given: Option<&str>) -> Option<Approver> {
        let given = given?;
        let approver = Approver::parse(given);
        if approver.is_none() {
            let shown: String = given.chars().take(limits::SHOWN_NAME_CHARS).collect();
            let what = format!("it is {shown:?}; it must be \"human\"");
            self.add(place(index, "approve"), what);
        }
        approver
    }

    pub(super) fn gate(
        &mut self,
        index: usize,
        draft: &StepDraft,
        known: &Candidates,
    ) -> Option<Gate> {
        let timeout_seconds = draft.gate_seconds.unwrap_or(wait_times::GATE_SECONDS);
        if !(1..=wait_times::MAX_STEP_SECONDS).contains(&timeout_seconds) {
            let most = wait_times::MAX_STEP_SECONDS;
            let what = format!("it is {timeout_seconds}; it must be 1 to {most}");
            self.add(place(index, "gate_seconds"), what);
        }
        let Some(program) = draft.gate.first() else {
            for (field, given) in
                [("gate_seconds", draft.gate_seconds.is_some()), ("repeat", draft.repeat.is_some())]
            {
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
        Some(Gate { command: draft.gate.clone(), timeout_seconds })
    }

    pub(super) fn repeat(
        &mut self,
        index: usize,
        draft: &StepDraft,
        names: &[Name],
    ) -> Option<Repeat> {
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

    /// Checks that only earlier steps are repeated with a step.
    pub(super) fn rounds(&mut self, steps: &[Step]) {
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

    pub(super) fn when(&mut self, index: usize, given: Option<&str>) -> Option<When> {
        match evaluate_condition::parse(given?) {
            Ok(when) => Some(when),
            Err(problem) => {
                self.add(place(index, "when"), problem);
                None
            }
        }
    }

    pub(super) fn for_each(&mut self, index: usize, draft: &StepDraft) -> Option<StepReference> {
        let given = draft.for_each.as_deref()?;
        match placeholders::source(given.trim()) {
            Ok(source) if matches!(source.field, Field::Json(_)) => {
                if !draft.repeat_steps.is_empty() {
                    let what = "a step with `for_each` repeats each item by itself: leave `repeat_steps` \
                            out";
                    self.add(place(index, "repeat_steps"), what);
                }
                Some(source)
            }
            _ => {
                self.add(place(index, "for_each"), LIST_FORM);
                None
            }
        }
    }

    /// Checks that conditions name dependencies, that lists come from earlier steps, and that the names of items are free.
    pub(super) fn sources(&mut self, steps: &[Step]) {
        for (index, step) in steps.iter().enumerate() {
            if let Some(When { source, .. }) = &step.when
                && !step.depends_on.contains(&source.step)
            {
                self.add(place(index, "when"), no_dependency(&source.step, steps));
            }
            let Some(source) = &step.for_each else {
                continue;
            };
            if !before(step, steps).contains(&source.step) {
                self.add(place(index, "for_each"), no_dependency(&source.step, steps));
            }
            self.item_names(index, &step.name, steps);
        }
    }

    /// Checks the names of a step's items: the step's own name with a dot and a number.
    fn item_names(&mut self, index: usize, name: &Name, steps: &[Step]) {
        let longest = format!("{name}.{}", limits::MAX_ITEMS);
        if longest.len() > MAX_NAME_BYTES {
            let most = MAX_NAME_BYTES - (longest.len() - name.as_str().len());
            let what =
                format!("it is longer than {most} bytes: its items are named `{name}.1` and so on");
            self.add(place(index, "name"), what);
        }
        let begin = format!("{name}.").to_lowercase();
        for (other, step) in steps.iter().enumerate() {
            let lower = step.name.as_str().to_lowercase();
            let number = lower.strip_prefix(&begin);
            if number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit())) {
                let what = format!("an item of `{name}`, which has `for_each`, has this name");
                self.add(place(other, "name"), what);
            }
        }
    }

    /// Finds cycles, each once and named in full.
    pub(super) fn cycles(&mut self, steps: &[Step]) {
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
            let mut cycle: Vec<_> = path[begin..].iter().map(|name| name.as_str()).collect();
            cycle.push(step.name.as_str());
            let what = format!("they depend on each other in a cycle: {}", cycle.join(" → "));
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

    pub(super) fn prompt(&mut self, index: usize, draft: &StepDraft, steps: &[Step]) {
        let place = place(index, "prompt");
        let (parts, problems) = placeholders::parse(&draft.prompt);
        for problem in problems {
            self.add(&*place, problem);
        }
        let (mut mentioned, mut items) = (Vec::new(), 0);
        for part in parts {
            match part {
                Part::Value(StepReference { step, .. }) => mentioned.push(step),
                Part::Item(_) => items += 1,
                Part::Text(_) => {}
            }
        }
        if items > 0 && draft.for_each.is_none() {
            let what = "`{{item}}` stands for a list item, but this step has no `for_each`";
            self.add(&*place, what);
        }
        let count = mentioned.len() + items;
        if count > limits::MAX_PLACEHOLDERS {
            let most = limits::MAX_PLACEHOLDERS;
            self.add(&*place, format!("it has {count} placeholders; the limit is {most}"));
        }
        let (me, before) = (&steps[index].name, before(&steps[index], steps));
        mentioned.sort();
        mentioned.dedup();
        for name in mentioned {
            let what = if let Some(hint) = absent(&name, steps) {
                format!("a placeholder names the step `{name}`, which does not exist{hint}")
            } else if name == *me {
                "a placeholder names this step itself, which has no output before it runs"
                    .to_owned()
            } else if before.contains(&name) {
                continue;
            } else {
                format!(
                    "a placeholder names the step `{name}`, which this step does not depend on: \
                        add it to depends_on"
                )
            };
            self.add(&*place, what);
        }
    }
}

fn no_dependency(name: &Name, steps: &[Step]) -> String {
    match absent(name, steps) {
        Some(hint) => format!("it names the step `{name}`, which does not exist{hint}"),
        None => format!("this step does not depend on `{name}`: add it to depends_on"),
    }
}

/// Returns a hint if no step has this name: the steps with similar names.
fn absent(name: &Name, steps: &[Step]) -> Option<String> {
    if steps.iter().any(|step| step.name == *name) {
        return None;
    }
    let near = nearest(name.as_str(), steps.iter().map(|step| step.name.as_str()));
    Some(match near.as_slice() {
        [] => String::new(),
        near => format!(": did you mean {}?", quoted(near)),
    })
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
    candidates.find(|name| !taken.contains(name)).expect("there are more numbers than steps")
}

fn is_called(name: &Name, text: &str) -> bool {
    name.as_str().eq_ignore_ascii_case(text)
}

pub(super) fn place(index: usize, field: &str) -> String {
    format!("steps[{index}].{field}")
}

fn quoted<S: AsRef<str>>(names: &[S]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{}`", name.as_ref())).collect();
    quoted.join(", ")
}
