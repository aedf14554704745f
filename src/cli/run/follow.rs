//! Following a workflow to its end: what changes is told, who asks for approval is answered by the person at the terminal.

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, stdin};
use std::time::Instant;

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::report::{self, Report};
use crate::bus::BusError;
use crate::bus::rules::Approval;
use crate::bus::state::Workflow;
use crate::cli::{Failure, ui};
use crate::domain::id::WorkflowId;
use crate::domain::name::Name;
use crate::domain::workflow::{StepOf, StepStatus, WorkflowStatus};
use crate::sys::signals::Shutdown;
use crate::workflow::{WorkflowError, Workflows};

/// Who approves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Approving {
    /// Nobody is asked.
    Always,
    /// The person at the terminal.
    Asking,
    /// Some orchestrator.
    Others,
}

impl Approving {
    pub(super) fn of(yes: bool) -> Self {
        match (yes, stdin().is_terminal()) {
            (true, _) => Self::Always,
            (false, true) => Self::Asking,
            (false, false) => Self::Others,
        }
    }
}

/// A workflow that runs.
pub(super) struct Begun {
    id: WorkflowId,
    at: Instant,
}

impl Begun {
    pub(super) fn of(workflow: Workflow) -> Self {
        Self {
            id: workflow.id,
            at: Instant::now(),
        }
    }
}

/// Tells what happens until the workflow is over, or a signal asks for the end.
pub(super) async fn follow(
    workflows: &Workflows,
    begun: Begun,
    shutdown: &mut Shutdown,
    approving: Approving,
) -> Result<(), Failure> {
    let Begun { id, at } = begun;
    ui::tell(&format!("{:>7.1} s  {id}", 0.0));
    let (mut report, mut asked) = (Report::default(), BTreeSet::new());
    let mut changes = workflows.team().bus().changes();
    let mut answering: Option<BoxFuture<'_, Result<(), Failure>>> = None;
    loop {
        changes.borrow_and_update();
        let workflow = workflows.find(&id)?;
        for line in report.lines(&workflow, at.elapsed()) {
            ui::tell(&line);
        }
        if workflow.status.is_final() {
            return end(workflows, &workflow);
        }
        if answering.is_none()
            && approving != Approving::Others
            && let Some(step) = asking(&workflow, &mut asked)
        {
            answering = Some(answer(workflows, id.clone(), step, approving).boxed());
        }
        tokio::select! {
            closing = changes.changed() => closing?,
            answered = answered(&mut answering) => {
                answering = None;
                answered?;
            }
            signal = shutdown.recv() => {
                return Err(format!(
                    "{signal}: the workflow is interrupted; `cli-team-bridge run --resume {id}` goes on with it"
                )
                .into());
            }
        }
    }
}

/// Returns a step that asks for approval and that nobody was asked about.
fn asking(workflow: &Workflow, asked: &mut BTreeSet<Name>) -> Option<Name> {
    let steps = workflow.steps.iter();
    let mut asking = steps.filter(|step| step.status == StepStatus::Asking);
    let step = asking.find(|step| !asked.contains(&step.plan.name))?;
    asked.insert(step.plan.name.clone());
    Some(step.plan.name.clone())
}

async fn answered(
    answering: &mut Option<BoxFuture<'_, Result<(), Failure>>>,
) -> Result<(), Failure> {
    match answering {
        Some(answering) => answering.await,
        None => std::future::pending().await,
    }
}

/// Answers a step that asks.
async fn answer(
    workflows: &Workflows,
    workflow: WorkflowId,
    step: Name,
    approving: Approving,
) -> Result<(), Failure> {
    let given = approving == Approving::Always || person_approves(&step).await?;
    let approval = if given {
        Approval::Given
    } else {
        Approval::Refused(None)
    };
    match workflows.approve(StepOf { workflow, step }, approval).await {
        // Somebody else has answered, or the workflow was cancelled.
        Err(WorkflowError::Bus(BusError::Refused(refusal))) => {
            ui::tell(&refusal.to_string());
            Ok(())
        }
        other => Ok(other?),
    }
}

async fn person_approves(step: &Name) -> Result<bool, Failure> {
    ui::tell(&format!("May `{step}` begin? [y/N]"));
    let line = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        stdin().read_line(&mut line).map(|_| line)
    });
    let line = line.await??;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Prints how it ended, with what the last steps said.
fn end(workflows: &Workflows, workflow: &Workflow) -> Result<(), Failure> {
    ui::say(&report::summary(workflow));
    let bus = workflows.team().bus();
    for step in report::last(workflow) {
        let Some(id) = &step.task else { continue };
        let task = bus.find_task(id)?;
        if let Some(body) = task.and_then(|task| task.output) {
            ui::say(&format!(
                "\n{}:\n{}",
                step.plan.name,
                bus.text(body)?.trim_end()
            ));
        }
    }
    match workflow.status {
        WorkflowStatus::Done => Ok(()),
        status => Err(format!("the workflow {}", status.told()).into()),
    }
}
