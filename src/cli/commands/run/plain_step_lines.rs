//! The plain report of a run: a line for every change of a step, and a summary at the end.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::bus::state::{StepRun, Workflow};
use crate::bus::storage::file::transcript_name;
use crate::domain::name::Name;
use crate::domain::text::visible_letters::{one_line, seen};
use crate::domain::workflow::StepStatus;

/// Where a step's approval comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApprovalFrom {
    /// From `--yes`, without a question.
    Option,
    /// From the person at this terminal.
    Terminal,
    /// From elsewhere: there is no terminal to ask at.
    Elsewhere,
}

/// The changes reported so far.
pub(crate) struct StepReport {
    reported: BTreeMap<Name, (StepStatus, u32)>,
    approval: ApprovalFrom,
}

impl StepReport {
    /// Makes the report of a run that has just begun.
    pub(crate) fn new(approval: ApprovalFrom) -> Self {
        Self { reported: BTreeMap::new(), approval }
    }

    /// Returns the lines for the changes since the last call.
    pub(crate) fn lines(&mut self, workflow: &Workflow, since: Duration) -> Vec<String> {
        let mut lines = Vec::new();
        for step in &workflow.steps {
            let now = (step.status, step.attempts);
            let before = self.reported.insert(step.plan.name.clone(), now);
            let is_news = before.map_or(step.status != StepStatus::Waiting, |before| before != now);
            let is_asked = step.status == StepStatus::Asking;
            let is_news = is_news && !(is_asked && self.approval == ApprovalFrom::Option);
            if is_news {
                let seconds = since.as_secs_f64();
                lines.push(format!("{seconds:>7.1} s  {}", line(step, self.approval)));
            }
        }
        lines
    }
}

impl ApprovalFrom {
    /// Says how a step is approved.
    fn how(self) -> &'static str {
        match self {
            Self::Option => "--yes gives it",
            Self::Terminal => "answer here, or with `approve_step` in an orchestrator",
            Self::Elsewhere => "answer with `approve_step` in an orchestrator, or run with --yes",
        }
    }
}

/// Returns the line of a step's state.
fn line(step: &StepRun, approval: ApprovalFrom) -> String {
    let agent =
        step.agent.as_ref().map_or_else(|| step.planned_agent().to_owned(), ToString::to_string);
    let why = safe_reason(step.why.as_deref().unwrap_or_default());
    let name = &step.plan.name;
    match step.status {
        StepStatus::Running if step.attempts > 1 => {
            format!("{name} is running again ({agent}, attempt {})", step.attempts)
        }
        StepStatus::Running => format!("{name} is running ({agent})"),
        StepStatus::Done => format!("{name} is done"),
        // It has not begun: it was waiting for its approval.
        StepStatus::Waiting if step.attempts == 0 => format!("{name} is approved"),
        StepStatus::Waiting if why.is_empty() => format!("{name} waits to retry"),
        StepStatus::Waiting => format!("{name} waits to retry: {why}"),
        StepStatus::Asking => format!("{name} waits for approval: {}", approval.how()),
        status => format!("{name} {}: {why}", status.phrase()),
    }
}

/// Formats a reason, which may contain foreign text, so that no line of it passes for a line of the report.
fn safe_reason(why: &str) -> String {
    seen(why).trim_end().replace('\n', "\n          | ")
}

/// Returns a line with the reason of each failed step.
pub(crate) fn failures(workflow: &Workflow) -> Vec<String> {
    let steps = workflow.steps.iter();
    let failed = steps.filter(|step| step.status == StepStatus::Failed);
    failed.map(|step| line(step, ApprovalFrom::Elsewhere)).collect()
}

/// Returns how a workflow ended, step by step.
pub(crate) fn summary(workflow: &Workflow) -> String {
    let width = workflow.steps.iter();
    let width = width.map(|step| step.plan.name.as_str().len()).max();
    let width = width.unwrap_or_default();
    let mut lines =
        vec![format!("{} ({}) {}", workflow.name, workflow.id, workflow.status.phrase())];
    for step in &workflow.steps {
        let took = step.took_ms().map_or_else(String::new, |ms| {
            format!("  {:.1} s", Duration::from_millis(ms).as_secs_f64())
        });
        let agent = step.agent.as_ref();
        let agent = agent.map_or_else(String::new, |agent| format!("  {agent}"));
        let status = step.status.as_str();
        lines.push(format!("  {:width$}  {status:<9}{took}{agent}", step.plan.name.as_str()));
    }
    lines.join("\n")
}

/// Returns a line with the transcript of each step that has begun, below a heading. The directory is that of the transcripts.
pub(crate) fn transcripts(workflow: &Workflow, directory: &Path) -> Vec<String> {
    let begun = workflow.steps.iter().filter_map(|step| Some((step, step.task.as_ref()?)));
    let begun: Vec<_> = begun.collect();
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
pub(crate) fn last(workflow: &Workflow) -> Vec<&StepRun> {
    let is_last = |step: &&StepRun| {
        let mut ran = workflow.steps.iter().filter(|other| other.attempts > 0);
        // A step that depends on one with `for_each` depends on all of its items.
        let name = step.item.as_ref().map_or(&step.plan.name, |item| &item.of);
        step.status == StepStatus::Done && !ran.any(|other| other.plan.depends_on.contains(name))
    };
    workflow.steps.iter().filter(is_last).collect()
}
