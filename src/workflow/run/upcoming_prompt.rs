//! What a step would be told if it began now, for a person who is to approve it.

use super::input_source::InputSource;
use super::prompt_templates::PromptTemplates;
use super::step_inputs::StepInputs;
use crate::bus::state::Workflow;
use crate::domain::name::Name;

/// Returns the prompt that a step would get now, or its template as long as its inputs are unknown; `None` if it cannot be read.
pub fn upcoming_prompt(
    source: &dyn InputSource,
    workflow: &Workflow,
    name: &Name,
) -> Option<String> {
    let step = workflow.step(name)?;
    let templates = PromptTemplates::read(source, workflow)
        .inspect_err(|error| tracing::warn!("{}: {error}", workflow.id))
        .ok()?;
    let template = templates.of_step(workflow, name)?;
    let inputs = StepInputs { source, workflow };
    Some(inputs.prompt(step, template).unwrap_or_else(|_| template.to_owned()))
}
