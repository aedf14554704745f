//! What a step waits for, what its agent is doing besides plain work, or why it ended.

use crate::bus::state::{State, StepRun, Task, Workflow};
use crate::domain::limits;
use crate::domain::member::Activity;
use crate::domain::text::counted::counted;
use crate::domain::text::exactly::{exact_words, exactly};
use crate::domain::text::visible_letters::beginning;
use crate::domain::workflow::{StepStatus, WorkflowStatus};

/// Returns the note of a step, if there is something to say, as one line.
pub(super) fn step_note(workflow: &Workflow, step: &StepRun, state: &State) -> Option<String> {
    let note = beginning(&whole(workflow, step, state), limits::STEP_NOTE_CHARS);
    Some(note).filter(|note| !note.is_empty())
}

fn whole(workflow: &Workflow, step: &StepRun, state: &State) -> String {
    match step.status {
        StepStatus::Waiting => awaited(workflow, step),
        StepStatus::Asking => "waits for you to approve it".to_owned(),
        StepStatus::Running if step.items.is_some() => items(workflow, step),
        StepStatus::Running => {
            let task = step.task.as_ref().and_then(|id| state.task(id));
            let doing = task.map_or_else(String::new, |task| doing(step, task, state));
            // A fallback or a retry may run long: until its end this says why.
            match &step.why {
                Some(why) if doing.is_empty() => format!("the last attempt: {why}"),
                _ => doing,
            }
        }
        StepStatus::Done => String::new(),
        _ => step.why.clone().unwrap_or_default(),
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
        None if workflow.status == WorkflowStatus::Interrupted => {
            "for somebody who resumes it".to_owned()
        }
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
