//! The view of a step: from the workflow, and from the bus's state of its agent.

use std::time::Duration;

use crate::bus::state::{State, StepRun, Task, Workflow};
use crate::domain::member::Activity;
use crate::domain::text::counted::counted;
use crate::domain::text::exactly::{exact_words, exactly};
use crate::domain::text::visible_letters::is_invisible;
use crate::domain::workflow::StepStatus;

/// How many characters of a reason are shown: more than a line of a wide terminal.
const HEAD: usize = 300;

#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) name: String,
    /// The step of which it is an item.
    pub(crate) part_of: Option<String>,
    pub(crate) depends_on: Vec<String>,
    pub(crate) status: StepStatus,
    /// Its agent, or the one that is planned for it.
    pub(crate) agent: String,
    pub(crate) attempt: u32,
    pub(crate) time: Time,
    /// What it waits for, its current activity, or the reason of its end.
    pub(crate) note: String,
}

/// The duration of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Time {
    /// It has not begun, or waits again.
    None,
    /// It has been running since this wall time, later by the pauses in which no session led the workflow.
    Since(i64),
    Took(Duration),
}

impl Shown {
    /// Returns the text after the agent.
    pub(crate) fn remarks(&self) -> String {
        let attempt =
            if self.attempt > 1 { format!("attempt {}", self.attempt) } else { String::new() };
        let remarks = [attempt, self.note.clone()];
        let remarks: Vec<_> = remarks.into_iter().filter(|it| !it.is_empty()).collect();
        remarks.join(", ")
    }
}

/// Returns the view of each step.
pub(crate) fn shown(workflow: &Workflow, state: &State) -> Vec<Shown> {
    let steps = workflow.steps.iter();
    steps
        .map(|step| {
            let depends_on = step.plan.depends_on.iter().map(ToString::to_string);
            let agent = step.agent.as_ref().map(ToString::to_string);
            Shown {
                name: step.plan.name.to_string(),
                part_of: step.item.as_ref().map(|item| item.of.to_string()),
                depends_on: depends_on.collect(),
                status: step.status,
                agent: agent.unwrap_or_else(|| step.planned_agent().to_owned()),
                attempt: step.attempts,
                time: time(step),
                note: one_line(&note(workflow, step, state)),
            }
        })
        .collect()
}

fn time(step: &StepRun) -> Time {
    match (step.status, step.started_ms, step.took_ms()) {
        (StepStatus::Running, Some(from), _) => {
            let paused = i64::try_from(step.paused_ms.unwrap_or_default()).unwrap_or(i64::MAX);
            Time::Since(from.saturating_add(paused))
        }
        (status, _, Some(ms)) if status.is_final() => Time::Took(Duration::from_millis(ms)),
        _ => Time::None,
    }
}

/// Returns the time between two wall times: zero if the clock was set back meanwhile.
pub(crate) fn between(from_ms: i64, to_ms: i64) -> Duration {
    let ms = to_ms.saturating_sub(from_ms).max(0);
    Duration::from_millis(ms.unsigned_abs())
}

fn note(workflow: &Workflow, step: &StepRun, state: &State) -> String {
    let why = || step.why.clone().unwrap_or_default();
    match step.status {
        StepStatus::Waiting => awaited(workflow, step),
        StepStatus::Asking => "waits for you to approve it".to_owned(),
        StepStatus::Running if step.items.is_some() => items(workflow, step),
        StepStatus::Running => {
            let task = step.task.as_ref().and_then(|id| state.task(id));
            let doing = task.map_or_else(String::new, |task| doing(step, task, state));
            // A fallback or a retry may run long: until its end the tree says why.
            match &step.why {
                Some(why) if doing.is_empty() => format!("the last attempt: {why}"),
                _ => doing,
            }
        }
        StepStatus::Done => String::new(),
        _ => why(),
    }
}

/// Returns how many of its items are over.
fn items(workflow: &Workflow, step: &StepRun) -> String {
    let (mut over, mut all) = (0_usize, 0_usize);
    for item in workflow.items_of(step) {
        all += 1;
        over += usize::from(item.status.is_final());
    }
    format!("{over} of {}", counted(all, "item"))
}

/// Returns what a step waits for.
fn awaited(workflow: &Workflow, step: &StepRun) -> String {
    let before = step.plan.depends_on.iter();
    let open = before.filter(|name| {
        let before = workflow.step(name);
        before.is_some_and(|before| !before.status.is_final())
    });
    let open: Vec<_> = open.map(ToString::to_string).collect();
    match &step.why {
        _ if !open.is_empty() => format!("for {}", open.join(", ")),
        Some(why) => format!("to retry: {why}"),
        None => "for a free slot".to_owned(),
    }
}

/// Returns the activity of a running step's agent, if it is not plain work.
fn doing(step: &StepRun, task: &Task, state: &State) -> String {
    if let (true, Some(gate)) = (task.status.is_final(), &step.plan.gate) {
        return format!("its gate: {}", exact_words(&gate.command));
    }
    let Some(session) = state.session(task.session) else {
        return String::new();
    };
    let asked = state.open_permissions_of(session.id);
    let asked = asked.iter().find(|asked| asked.question.task.as_ref() == Some(&task.id));
    let word = match asked {
        Some(asked) => return format!("asks for permission: {}", exactly(&asked.question.title)),
        None if session.hung => "hangs",
        None if session.activity == Activity::Starting => "the agent is starting",
        None if session.running.as_ref() != Some(&task.id) => "in the agent's queue",
        None if !session.waits.is_empty() => "waits for a message",
        None if session.stalled => "silent for a while",
        None => "",
    };
    word.to_owned()
}

/// Makes one line of foreign text, cut to what fits beside a step.
pub(crate) fn one_line(text: &str) -> String {
    plain(text, HEAD)
}

/// Makes one line of foreign text, in which nothing moves the cursor or changes the order of letters.
pub(crate) fn plain(text: &str, most: usize) -> String {
    let head = text.chars().take(most + 1).count();
    let mut line = String::new();
    for letter in text.chars().take(most) {
        if letter.is_whitespace() {
            if !line.ends_with(' ') {
                line.push(' ');
            }
        } else if !is_invisible(letter) {
            line.push(letter);
        }
    }
    let line = line.trim();
    let more = if head > most { "…" } else { "" };
    format!("{line}{more}")
}
