//! What a step is given of the others: read from the bus when it can begin.

use std::collections::BTreeMap;

use serde_json::Value;

use super::blocker::Blocker;
use super::step_output::StepOutput;
use super::step_prompt::Item;
use crate::bus::BusError;
use crate::bus::state::{StepRun, Workflow};
use crate::domain::limits;
use crate::domain::name::Name;
use crate::domain::task::error_class;
use crate::domain::workflow::{Field, StepReference, StepStatus};
use crate::team::Team;
use crate::workflow::plan::evaluate_condition::{self, ConditionResult};
use crate::workflow::plan::placeholders::{self, Part};

/// Reads what the steps of one workflow have come to.
pub(crate) struct StepInputs<'a> {
    pub(crate) team: &'a Team,
    pub(crate) workflow: &'a Workflow,
}

/// What is read of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Words,
    WordsAndFiles,
}

impl StepInputs<'_> {
    /// Collects what a step is given: of the steps that it depends on, and of those that its prompt names.
    pub(crate) fn given(
        &self,
        step: &StepRun,
        template: &str,
    ) -> Result<Vec<StepOutput>, BusError> {
        let (parts, _) = placeholders::parse(template);
        let depends_on = step.plan.depends_on.iter().cloned();
        let mut names: BTreeMap<Name, Extent> =
            depends_on.map(|name| (name, Extent::Words)).collect();
        for part in parts {
            let Part::Value(StepReference { step, field }) = part else {
                continue;
            };
            let extent = names.entry(step).or_insert(Extent::Words);
            if field == Field::Files {
                *extent = Extent::WordsAndFiles;
            }
        }
        let before =
            names.iter().filter_map(|(name, extent)| Some((self.workflow.step(name)?, *extent)));
        before.map(|(before, extent)| self.given_by(before, extent)).collect()
    }

    fn given_by(&self, step: &StepRun, extent: Extent) -> Result<StepOutput, BusError> {
        let bus = self.team.bus();
        // What a step said in a round before this one, in which it was not needed, is not its word.
        let task = step.task.as_ref();
        let task = task.filter(|_| step.status != StepStatus::Unneeded);
        let task = task.map_or(Ok(None), |id| bus.find_task(id))?;
        let output = match task.as_ref().and_then(|task| task.output) {
            Some(body) => bus.text(body)?,
            None => String::new(),
        };
        let told = task.as_ref().filter(|_| extent == Extent::WordsAndFiles);
        let files = told.map(|task| self.team.changed_files(task)).transpose()?;
        let items = self.workflow.items_of(step);
        let items = step.items.map(|_| items.map(|item| self.given_by(item, extent)));
        Ok(StepOutput {
            step: step.plan.name.clone(),
            agent: step.agent.clone(),
            status: step.status,
            task: task.map(|task| task.id),
            output,
            files: files.unwrap_or_default(),
            items: items.map(Iterator::collect).transpose()?,
        })
    }

    /// Looks whether the condition of a step holds.
    pub(crate) fn weigh(&self, step: &StepRun) -> Result<ConditionResult, BusError> {
        let Some(when) = &step.plan.when else {
            return Ok(ConditionResult::Holds);
        };
        let Some(before) = self.workflow.step(&when.source.step) else {
            let why = format!("there is no step `{}`", when.source.step);
            return Ok(ConditionResult::Unclear(why));
        };
        let given = self.given_by(before, Extent::Words)?;
        Ok(evaluate_condition::weigh(when, &given))
    }

    /// Finds the list that a step is to be done for, as JSON, and how many items it has.
    pub(crate) fn list(&self, step: &StepRun) -> Result<(String, u32), Blocker> {
        let wrong = |why: String| Blocker::Never("flow", why);
        let none = || wrong("the step has no `for_each`".to_owned());
        let source = step.plan.for_each.as_ref().ok_or_else(none)?;
        let Field::Json(path) = &source.field else {
            return Err(none());
        };
        let before = self.workflow.step(&source.step).ok_or_else(none)?;
        let given = self.given_by(before, Extent::Words)?;
        let items = given.list(path).map_err(wrong)?;
        let count = u32::try_from(items.len()).unwrap_or(u32::MAX);
        let text = Value::Array(items).to_string();
        if text.len() > limits::ITEMS_BYTES {
            let (bytes, most) = (text.len(), limits::ITEMS_BYTES);
            return Err(wrong(format!(
                "the list of step `{}` has {bytes} bytes; the limit is {most}: list file names \
                    instead of contents",
                source.step
            )));
        }
        Ok((text, count))
    }

    /// Reads the item that a step is for, if it is for one.
    pub(crate) fn item(&self, step: &StepRun) -> Result<Option<Item>, Blocker> {
        let Some(item) = &step.item else {
            return Ok(None);
        };
        let of = self.workflow.step(&item.of);
        let lost =
            || Blocker::Never(error_class::BUS, format!("the list of `{}` is lost", item.of));
        let (of, items) = of.and_then(|of| Some((of, of.items?))).ok_or_else(lost)?;
        let source = of.plan.for_each.as_ref().ok_or_else(lost)?;
        let text = self.team.bus().text(items.list)?;
        let all: Vec<Value> = serde_json::from_str(&text).map_err(|_| lost())?;
        let at = usize::try_from(item.number).unwrap_or(usize::MAX);
        let value = all.into_iter().nth(at.saturating_sub(1)).ok_or_else(lost)?;
        Ok(Some(Item { value, number: item.number, count: items.count, of: source.step.clone() }))
    }
}
