//! The prompts of a workflow's steps as its plan has them, with their placeholders.

use super::input_source::InputSource;
use crate::bus::BusError;
use crate::bus::state::Workflow;
use crate::domain::name::Name;

/// The prompts in the plan's order.
#[derive(Debug)]
pub(crate) struct PromptTemplates(Vec<String>);

/// Why the prompts cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PromptsError {
    #[error(transparent)]
    Bus(#[from] BusError),
    #[error("its prompts are damaged: {0}")]
    Damaged(#[from] serde_json::Error),
}

impl PromptTemplates {
    /// Reads a workflow's prompts.
    pub(crate) fn read(
        source: &dyn InputSource,
        workflow: &Workflow,
    ) -> Result<Self, PromptsError> {
        Ok(Self(serde_json::from_str(&source.text(workflow.prompts)?)?))
    }

    /// Returns the prompt of a step; that of an item is its step's.
    pub(crate) fn of_step(&self, workflow: &Workflow, name: &Name) -> Option<&str> {
        let step = workflow.step(name)?;
        let planned = step.item.as_ref().map_or(name, |item| &item.of);
        let at = workflow.planned().position(|step| step.plan.name == *planned)?;
        self.0.get(at).map(String::as_str)
    }
}
