//! How a run has ended: its steps, what failed in them, and where their words are.

use std::path::Path;

use super::attempt_end::{BELOW, safe_reason};
use crate::bus::state::{StepRun, Workflow};
use crate::bus::storage::file::transcript_name;
use crate::domain::limits;
use crate::domain::name::Name;
use crate::domain::task::result::FailedCall;
use crate::domain::text::visible_letters::{beginning, one_line, quoted};
use crate::domain::workflow::StepStatus;
use crate::view::WorkflowTree;

/// Returns how a workflow ended, step by step. `past` says how earlier attempts ended, each with the name of its step. No reason is
/// cut: the remedy in it may be a command.
pub(in crate::cli::commands::run) fn summary(
    tree: &WorkflowTree,
    workflow: &Workflow,
    past: &[(Name, String)],
) -> String {
    let width = tree.steps.iter().map(|step| step.name.len()).max().unwrap_or_default();
    let mut lines =
        vec![format!("{} ({}) {}", workflow.name, workflow.id, workflow.status.phrase())];
    for (step, run) in tree.steps.iter().zip(&workflow.steps) {
        // A step that is over has the same time at any time.
        let mut parts = vec![
            format!("{:width$}  {:<9}", step.name, step.status.as_str()),
            step.time(tree.created_at),
        ];
        parts.extend(run.agent.as_ref().map(ToString::to_string));
        parts.extend(step.attempts_in_words());
        parts.retain(|part| !part.is_empty());
        lines.push(format!("  {}", parts.join("  ")).trim_end().to_owned());
        let earlier = past.iter().filter(|(name, _)| *name == run.plan.name);
        lines.extend(earlier.map(|(_, attempt)| format!("{BELOW}{attempt}")));
        let why = run.why.as_deref().filter(|_| step.status != StepStatus::Done);
        let why = why.map(|why| safe_reason(why.trim(), BELOW)).filter(|why| !why.is_empty());
        lines.extend(why.map(|why| format!("{BELOW}{why}")));
    }
    lines.join("\n")
}

/// The most failed calls that the end of a run shows; `task ID` shows all of a task.
const FAILED_CALLS: usize = 10;

/// Returns a line for each failed call of a step that is done, below a heading.
pub(in crate::cli::commands::run) fn failed_calls(calls: &[(Name, FailedCall)]) -> Vec<String> {
    if calls.is_empty() {
        return Vec::new();
    }
    let width = calls.iter().map(|(step, _)| step.as_str().len()).max().unwrap_or_default();
    let mut lines = vec!["\nNot all that these steps tried has worked:".to_owned()];
    lines.extend(calls.iter().take(FAILED_CALLS).map(|(step, call)| {
        let (title, why) =
            (quoted(&call.title, limits::PROMPT_CHARS), beginning(&call.why, limits::PROMPT_CHARS));
        format!("  {:width$}  {}: {}", step.as_str(), title, why)
    }));
    let rest = calls.len().saturating_sub(FAILED_CALLS);
    if rest > 0 {
        lines.push(format!("  and {rest} more: `cli-team-bridge task ID` shows all of a task"));
    }
    lines
}

/// Returns a line with the transcript of each step that has one, below a heading. The directory is that of the transcripts; an agent
/// that did not start has written none.
pub(in crate::cli::commands::run) fn transcripts(
    workflow: &Workflow,
    directory: &Path,
    is_there: impl Fn(&str) -> bool,
) -> Vec<String> {
    let begun = workflow.steps.iter().filter_map(|step| Some((step, step.task.as_ref()?)));
    let begun: Vec<_> = begun.filter(|(_, task)| is_there(&transcript_name(task))).collect();
    let width = begun.iter().map(|(step, _)| step.plan.name.as_str().len()).max();
    let Some(width) = width else {
        return Vec::new();
    };
    let is_repeated = begun.iter().any(|(step, _)| step.attempts > 1);
    let of = if is_repeated { "Transcripts of the last attempts:" } else { "Transcripts:" };
    let mut lines = vec![format!("\n{of}")];
    lines.extend(begun.iter().map(|(step, task)| {
        let path = directory.join(transcript_name(task));
        format!("  {:width$}  {}", step.plan.name.as_str(), one_line(&path.to_string_lossy()))
    }));
    lines
}

/// Returns the last steps of a workflow: those that are done and on which no step that ran depends.
pub(in crate::cli::commands::run) fn last(workflow: &Workflow) -> Vec<&StepRun> {
    let is_last = |step: &&StepRun| {
        let mut ran = workflow.steps.iter().filter(|other| other.attempts > 0);
        // A step that depends on one with `for_each` depends on all of its items.
        let name = step.item.as_ref().map_or(&step.plan.name, |item| &item.of);
        step.status == StepStatus::Done && !ran.any(|other| other.plan.depends_on.contains(name))
    };
    workflow.steps.iter().filter(is_last).collect()
}
