//! The plain report of a run: a line for every change of a step, and a summary at the end.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::bus::state::{StepRun, Workflow};
use crate::bus::storage::file::transcript_name;
use crate::domain::ids::TaskId;
use crate::domain::limits;
use crate::domain::name::Name;
use crate::domain::task::result::FailedCall;
use crate::domain::text::visible_letters::{beginning, one_line, quoted, seen};
use crate::domain::workflow::{Again, StepStatus};
use crate::view::WorkflowTree;

/// The indent of a line about a step below that step's line.
const BELOW: &str = "      ";

/// The indent of a line below a line with a time.
const BELOW_TIME: &str = "          ";

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
    reported: BTreeMap<Name, Reported>,
    approval: ApprovalFrom,
}

/// A step as it was last reported.
struct Reported {
    status: StepStatus,
    attempts: u32,
    approved: bool,
    /// How often it went back to wait for another attempt, for each kind of reason.
    returns: [(Again, u32); 4],
    agent: Option<Name>,
    task: Option<TaskId>,
}

impl StepReport {
    /// Makes the report of a run that has just begun.
    pub(crate) fn new(approval: ApprovalFrom) -> Self {
        Self { reported: BTreeMap::new(), approval }
    }

    /// Returns the lines for the changes since the last call. `class` returns the class of a task's error.
    pub(crate) fn lines(
        &mut self,
        workflow: &Workflow,
        since: Duration,
        class: impl Fn(&TaskId) -> Option<String>,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        let mut add = |text| lines.push(format!("{:>7.1} s  {text}", since.as_secs_f64()));
        for step in &workflow.steps {
            let name = &step.plan.name;
            let before = self.reported.insert(name.clone(), Reported::of(step));
            // An attempt may fail and the next one begin between two calls.
            if let Some(ended) = before.as_ref().and_then(|before| before.ended(step, &class)) {
                add(format!("{name}: {}", ended.in_full()));
            }
            // Between two looks it may be approved and begin.
            if step.approved && !before.as_ref().is_some_and(|before| before.approved) {
                add(format!("{name} is approved"));
            }
            let is_news = match (&before, step.status) {
                (_, StepStatus::Asking) if self.approval == ApprovalFrom::Option => false,
                // That is no news, or its approval or the end of its attempt has a line.
                (_, StepStatus::Waiting) => false,
                (None, _) => true,
                (Some(before), status) => {
                    (before.status, before.attempts) != (status, step.attempts)
                }
            };
            if is_news {
                add(line(step, self.approval));
            }
        }
        lines
    }
}

impl Reported {
    fn of(step: &StepRun) -> Self {
        Self {
            status: step.status,
            attempts: step.attempts,
            approved: step.approved,
            returns: [
                (Again::Fallback, step.passed),
                (Again::Repeat, step.rounds),
                (Again::Interrupted, step.interruptions),
                (Again::Retry, step.failures),
            ],
            agent: step.agent.clone(),
            task: step.task.clone(),
        }
    }

    /// Returns the end of the last attempt after which the step waited for another one since then.
    fn ended<'s>(
        &'s self,
        step: &'s StepRun,
        class: impl Fn(&TaskId) -> Option<String>,
    ) -> Option<AttemptEnd<'s>> {
        let now = Self::of(step).returns;
        let (again, _) = *now.iter().zip(&self.returns).find(|(now, then)| now.1 > then.1)?.0;
        // The reason of a step that is over is that of its end.
        let number = match step.status {
            StepStatus::Running => step.attempts.checked_sub(1)?,
            StepStatus::Waiting | StepStatus::Asking => step.attempts,
            _ => return None,
        };
        let is_known = self.attempts == number;
        let has_begun = number > 0 && !(is_known && self.status == StepStatus::Waiting);
        let task = self.task.as_ref().filter(|_| is_known && has_begun);
        Some(AttemptEnd {
            number,
            has_begun,
            agent: self.agent.as_ref().filter(|_| is_known && has_begun),
            again,
            class: task.and_then(class),
            why: step.why.as_deref().unwrap_or_default(),
        })
    }
}

/// How an attempt ended after which its step waited for another one.
pub(crate) struct AttemptEnd<'a> {
    /// The number of attempts that had begun by then.
    pub(crate) number: u32,
    /// Whether it was one of them.
    pub(crate) has_begun: bool,
    pub(crate) agent: Option<&'a Name>,
    pub(crate) again: Again,
    /// The class of its task's error.
    pub(crate) class: Option<String>,
    pub(crate) why: &'a str,
}

impl AttemptEnd<'_> {
    /// Returns what the summary says of it, with the whole reason, which may have several lines.
    pub(crate) fn in_summary(&self) -> String {
        with_reason(self.what(), &safe_reason(self.why, BELOW))
    }

    /// Returns the line of a change, with the whole reason.
    fn in_full(&self) -> String {
        with_reason(self.what(), &safe_reason(self.why, BELOW_TIME))
    }

    fn what(&self) -> String {
        let Self { number, has_begun, agent, again, class, .. } = self;
        if !has_begun {
            return format!("attempt {} could not begin", number + 1);
        }
        let by = agent.map(|agent| format!(" by {agent}")).unwrap_or_default();
        let ended = match (again, class) {
            (Again::Repeat, _) => "is repeated".to_owned(),
            (Again::Interrupted, _) => "was interrupted".to_owned(),
            (Again::Retry | Again::Fallback, None) => "failed".to_owned(),
            (Again::Retry | Again::Fallback, Some(class)) => {
                format!("failed ({})", beginning(class, limits::AGENT_WORD_CHARS))
            }
        };
        format!("attempt {number}{by} {ended}")
    }
}

/// Adds a reason to what it is for, if there is one.
fn with_reason(what: String, why: &str) -> String {
    if why.is_empty() { what } else { format!("{what}: {why}") }
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
    let why = safe_reason(step.why.as_deref().unwrap_or_default(), BELOW_TIME);
    let name = &step.plan.name;
    match step.status {
        StepStatus::Running if step.attempts > 1 => {
            format!("{name} is running again ({agent}, attempt {})", step.attempts)
        }
        StepStatus::Running => format!("{name} is running ({agent})"),
        StepStatus::Done => format!("{name} is done"),
        StepStatus::Waiting => format!("{name} is waiting"),
        StepStatus::Asking => format!("{name} waits for approval: {}", approval.how()),
        status => with_reason(format!("{name} {}", status.phrase()), &why),
    }
}

/// Formats a reason, which may contain foreign text, so that no line of it passes for a line of the report.
fn safe_reason(why: &str, indent: &str) -> String {
    seen(why).trim_end().replace('\n', &format!("\n{indent}| "))
}

/// Returns how a workflow ended, step by step. `past` says how earlier attempts ended, each with the name of its step. No reason is
/// cut: the remedy in it may be a command.
pub(crate) fn summary(tree: &WorkflowTree, workflow: &Workflow, past: &[(Name, String)]) -> String {
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
pub(crate) fn failed_calls(calls: &[(Name, FailedCall)]) -> Vec<String> {
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
pub(crate) fn transcripts(
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
pub(crate) fn last(workflow: &Workflow) -> Vec<&StepRun> {
    let is_last = |step: &&StepRun| {
        let mut ran = workflow.steps.iter().filter(|other| other.attempts > 0);
        // A step that depends on one with `for_each` depends on all of its items.
        let name = step.item.as_ref().map_or(&step.plan.name, |item| &item.of);
        step.status == StepStatus::Done && !ran.any(|other| other.plan.depends_on.contains(name))
    };
    workflow.steps.iter().filter(is_last).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::bus::state::{BodyRef, State};
    use crate::bus::storage::LogPosition;
    use crate::domain::ids::WorkflowId;
    use crate::domain::workflow::{Step, WorkflowStatus};

    /// Makes a workflow of one step with these fields.
    fn workflow(fields: &Value) -> Workflow {
        let plan = Step::new(Name::parse("a").unwrap(), "red", &[]);
        let mut step = json!({
            "plan": plan, "status": "waiting", "attempts": 0, "failures": 0, "interruptions": 0, "passed": 0,
        });
        for (key, value) in fields.as_object().unwrap() {
            step[key] = value.clone();
        }
        Workflow {
            id: WorkflowId::from_bits(1),
            name: "test".into(),
            by: Name::parse("run").unwrap(),
            owner: None,
            status: WorkflowStatus::Running,
            cancel_asked: false,
            steps: vec![serde_json::from_value(step).unwrap()],
            prompts: BodyRef { place: LogPosition::default(), index: 0, bytes: 0 },
            plan_file: None,
            is_trial: false,
            created_ms: 0,
            ended_ms: None,
            interrupted_ms: None,
        }
    }

    /// Checks the lines for a change of a step between two looks.
    #[track_caller]
    fn check(before: &Value, after: &Value, expected: &[&str]) {
        let mut report = StepReport::new(ApprovalFrom::Elsewhere);
        let class = |_: &TaskId| Some("crashed".to_owned());
        report.lines(&workflow(before), Duration::ZERO, class);
        let lines = report.lines(&workflow(after), Duration::ZERO, class);
        let lines: Vec<_> =
            lines.iter().map(|line| line.trim_start_matches("    0.0 s  ")).collect();
        assert_eq!(lines, expected, "{after}");
        let again = report.lines(&workflow(after), Duration::ZERO, class);
        assert!(again.is_empty(), "{again:?}");
    }

    #[test]
    fn the_end_of_an_attempt_is_reported_also_if_the_next_one_runs_already() {
        let red = json!({
            "status": "running", "attempts": 1, "agent": "red", "task": TaskId::from_bits(1),
        });
        check(
            &red,
            &json!({ "status": "running", "attempts": 2, "passed": 1, "agent": "blue", "why": "gone" }),
            &["a: attempt 1 by red failed (crashed): gone", "a is running again (blue, attempt 2)"],
        );
        check(
            &red,
            &json!({ "attempts": 1, "failures": 1, "agent": "red", "why": "one\n    0.0 s  b is done" }),
            &["a: attempt 1 by red failed (crashed): one\n          |     0.0 s  b is done"],
        );
        check(
            &red,
            &json!({ "status": "running", "attempts": 3, "failures": 2, "agent": "red", "why": "no" }),
            &["a: attempt 2 failed: no", "a is running again (red, attempt 3)"],
        );
        check(
            &red,
            &json!({ "attempts": 1, "interruptions": 1, "agent": "red", "why": "" }),
            &["a: attempt 1 by red was interrupted"],
        );
        check(
            &json!({}),
            &json!({ "passed": 1, "why": "full" }),
            &["a: attempt 1 could not begin: full"],
        );
        check(
            &json!({ "status": "done", "attempts": 1, "agent": "red" }),
            &json!({ "attempts": 1, "rounds": 1, "agent": "red", "why": "not yet" }),
            &["a: attempt 1 by red is repeated: not yet"],
        );
    }

    #[test]
    fn a_reason_that_is_missing_leaves_no_colon() {
        let failed = json!({ "status": "skipped" });
        check(&json!({}), &failed, &["a was skipped"]);
        let approved = json!({ "approved": true });
        check(&json!({ "status": "asking" }), &approved, &["a is approved"]);
    }

    fn summed_up(fields: &Value, past: &[(Name, String)]) -> Vec<String> {
        let workflow = workflow(fields);
        let tree = WorkflowTree::of(&workflow, &State::default());
        let summary = summary(&tree, &workflow, past);
        summary.lines().skip(1).map(str::to_owned).collect()
    }

    #[test]
    fn the_summary_has_the_whole_of_each_reason() {
        let remedy = format!("{}: run `npm install -g some-agent`\n  b  done", "x".repeat(300));
        let failed = json!({ "status": "cancelled", "why": remedy });
        let gone = "attempt 1 by red failed: gone";
        let past = [(Name::parse("a").unwrap(), gone.to_owned())];
        assert_eq!(
            summed_up(&failed, &past),
            [
                "  a  cancelled",
                &format!("      {gone}"),
                &format!("      {}: run `npm install -g some-agent`", "x".repeat(300)),
                "      |   b  done",
            ]
        );
        let attempt = AttemptEnd {
            number: 1,
            has_begun: true,
            agent: None,
            again: Again::Retry,
            class: None,
            why: &remedy,
        };
        assert!(attempt.in_summary().contains("run `npm install -g some-agent`\n      |   b"));
    }

    #[test]
    fn the_summary_has_the_number_and_the_time_of_all_attempts() {
        let failed = json!({
            "status": "failed", "attempts": 3, "agent": "red", "started_ms": 9_000, "ended_ms": 10_000,
            "attempts_ms": 7_500,
        });
        assert_eq!(summed_up(&failed, &[]), ["  a  failed     7.5s  red  3 attempts"]);
    }

    #[test]
    fn an_approval_has_a_line_however_soon_the_step_begins() {
        let step = |status, attempts, approved| {
            let agent = if attempts > 0 { json!("red") } else { Value::Null };
            workflow(&json!({
                "status": status, "attempts": attempts, "approved": approved, "agent": agent,
            }))
        };
        let told = |approval, looks: &[Workflow]| -> Vec<String> {
            let mut report = StepReport::new(approval);
            let class = |_: &TaskId| None;
            let lines = looks.iter().flat_map(|look| report.lines(look, Duration::ZERO, class));
            lines.map(|line| line.trim_start_matches("    0.0 s  ").to_owned()).collect()
        };
        let [waiting, asking, approved, running] = [
            step("waiting", 0, false),
            step("asking", 0, false),
            step("waiting", 0, true),
            step("running", 1, true),
        ];
        let expected = ["a is approved", "a is running (red)"];
        for looks in [
            vec![waiting.clone(), asking.clone(), approved.clone(), running.clone()],
            vec![asking.clone(), running.clone()],
            vec![waiting, running.clone()],
            vec![running.clone()],
        ] {
            assert_eq!(told(ApprovalFrom::Option, &looks), expected, "{} looks", looks.len());
        }
        let with_question = told(ApprovalFrom::Terminal, &[asking, approved, running]);
        let question =
            "a waits for approval: answer here, or with `approve_step` in an orchestrator";
        assert_eq!(with_question, [question, expected[0], expected[1]]);
    }
}
