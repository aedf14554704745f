//! The inputs of a step: the outputs of others, read from the bus when it can begin.

use std::collections::BTreeMap;

use serde_json::Value;

use super::blocker::Blocker;
use super::input_source::InputSource;
use super::step_output::StepOutput;
use super::step_prompt::{self, Item};
use crate::bus::BusError;
use crate::bus::state::{StepRun, Workflow};
use crate::domain::limits;
use crate::domain::name::Name;
use crate::domain::task::error_class;
use crate::domain::workflow::{Field, StepReference, StepStatus};
use crate::workflow::plan::evaluate_condition::{self, ConditionResult};
use crate::workflow::plan::placeholders::{self, Part};

/// Reads the outputs of the steps of one workflow.
pub(crate) struct StepInputs<'a> {
    pub(crate) source: &'a dyn InputSource,
    pub(crate) workflow: &'a Workflow,
}

/// How much of a step's output to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Text,
    TextAndFiles,
}

impl StepInputs<'_> {
    /// Returns the prompt of a step, filled with its inputs.
    pub(crate) fn prompt(&self, step: &StepRun, template: &str) -> Result<String, Blocker> {
        let (given, item) = (self.given(step, template)?, self.item(step)?);
        let prompt = step_prompt::fill(template, &step.plan, &given, item.as_ref())
            .map_err(|why| Blocker::Never("flow", why))?;
        Ok(step_prompt::with_feedback(prompt, step.feedback.as_deref()))
    }

    /// Collects the inputs of a step: the outputs of the steps that it depends on, and of those that its prompt names.
    pub(crate) fn given(
        &self,
        step: &StepRun,
        template: &str,
    ) -> Result<Vec<StepOutput>, BusError> {
        let (parts, _) = placeholders::parse(template);
        let depends_on = step.plan.depends_on.iter().cloned();
        let mut names: BTreeMap<Name, Extent> =
            depends_on.map(|name| (name, Extent::Text)).collect();
        for part in parts {
            let Part::Value(StepReference { step, field }) = part else {
                continue;
            };
            let extent = names.entry(step).or_insert(Extent::Text);
            if field == Field::Files {
                *extent = Extent::TextAndFiles;
            }
        }
        let before =
            names.iter().filter_map(|(name, extent)| Some((self.workflow.step(name)?, *extent)));
        before.map(|(before, extent)| self.output_of(before, extent)).collect()
    }

    fn output_of(&self, step: &StepRun, extent: Extent) -> Result<StepOutput, BusError> {
        // If the step was not needed in this round, its output of an earlier round does not count.
        let task = step.task.as_ref();
        let task = task.filter(|_| step.status != StepStatus::Unneeded);
        let task = task.map_or(Ok(None), |id| self.source.task(id))?;
        let output = match task.as_ref().and_then(|task| task.output) {
            Some(body) => self.source.text(body)?,
            None => String::new(),
        };
        let with_files = task.as_ref().filter(|_| extent == Extent::TextAndFiles);
        let files = with_files.map(|task| self.source.files(task)).transpose()?;
        let items = self.workflow.items_of(step);
        let items = step.items.map(|_| items.map(|item| self.output_of(item, extent)));
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

    /// Evaluates the condition of a step.
    pub(crate) fn evaluate_condition(&self, step: &StepRun) -> Result<ConditionResult, BusError> {
        let Some(when) = &step.plan.when else {
            return Ok(ConditionResult::Holds);
        };
        let Some(before) = self.workflow.step(&when.source.step) else {
            let why = format!("there is no step `{}`", when.source.step);
            return Ok(ConditionResult::Unclear(why));
        };
        let given = self.output_of(before, Extent::Text)?;
        Ok(evaluate_condition::evaluate(when, &given))
    }

    /// Returns the list of a step with `for_each`, as JSON, and the number of its items.
    pub(crate) fn list(&self, step: &StepRun) -> Result<(String, u32), Blocker> {
        let wrong = |why: String| Blocker::Never("flow", why);
        let none = || wrong("the step has no `for_each`".to_owned());
        let source = step.plan.for_each.as_ref().ok_or_else(none)?;
        let Field::Json(path) = &source.field else {
            return Err(none());
        };
        let before = self.workflow.step(&source.step).ok_or_else(none)?;
        let given = self.output_of(before, Extent::Text)?;
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

    /// Reads the list item of a step, if it has one.
    pub(crate) fn item(&self, step: &StepRun) -> Result<Option<Item>, Blocker> {
        let Some(item) = &step.item else {
            return Ok(None);
        };
        let of = self.workflow.step(&item.of);
        let lost =
            || Blocker::Never(error_class::BUS, format!("the list of `{}` is lost", item.of));
        let (of, items) = of.and_then(|of| Some((of, of.items?))).ok_or_else(lost)?;
        let source = of.plan.for_each.as_ref().ok_or_else(lost)?;
        let text = self.source.text(items.list)?;
        let all: Vec<Value> = serde_json::from_str(&text).map_err(|_| lost())?;
        let at = usize::try_from(item.number).unwrap_or(usize::MAX);
        let value = all.into_iter().nth(at.saturating_sub(1)).ok_or_else(lost)?;
        Ok(Some(Item { value, number: item.number, count: items.count, of: source.step.clone() }))
    }
}
