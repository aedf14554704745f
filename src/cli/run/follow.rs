//! Following a workflow to its end: what changes is told, and what is asked is answered by the person at the terminal.

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, stdin};
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::question::{self, Question, Subject};
use super::report::{self, Report};
use super::screen::Screen;
use crate::bus::rules::{Approval, Ask};
use crate::bus::state::Workflow;
use crate::bus::{Bus, BusError};
use crate::cli::{Failure, ui};
use crate::domain::ids::SessionId;
use crate::domain::workflow::{StepOf, StepStatus, WorkflowStatus};
use crate::sys::process::Signal;
use crate::sys::signal_streams::Shutdown;
use crate::workflow::Workflows;

/// How long a terminal may take to show the tree of a workflow that is interrupted: one that is stopped takes for ever.
const LAST: Duration = Duration::from_secs(1);

/// Who answers what is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Approving {
    /// Whether every step is approved, without a question.
    all_steps: bool,
    /// Whether a person sits at the terminal; else some orchestrator can answer.
    has_person: bool,
}

impl Approving {
    pub(super) fn of(yes: bool) -> Self {
        Self {
            all_steps: yes,
            has_person: stdin().is_terminal(),
        }
    }
}

/// A workflow that runs.
pub(super) struct Begun {
    workflow: Workflow,
    at: Instant,
}

impl Begun {
    pub(super) fn of(workflow: Workflow) -> Self {
        Self {
            workflow,
            at: Instant::now(),
        }
    }
}

/// How a person is told.
enum Telling {
    /// A line for each move.
    Lines(Report),
    /// A tree that changes.
    Tree(Box<Screen>),
}

impl Telling {
    fn of(begun: &Begun) -> Result<Self, Failure> {
        if ui::can_paint() {
            let screen = Screen::of(&begun.workflow, begun.at)?;
            return Ok(Self::Tree(Box::new(screen)));
        }
        ui::tell(&format!("{:>7.1} s  {}", 0.0, begun.workflow.id));
        Ok(Self::Lines(Report::default()))
    }

    fn tell(&mut self, workflow: &Workflow, bus: &Bus, at: Instant) {
        match self {
            Self::Lines(report) => {
                for line in report.lines(workflow, at.elapsed()) {
                    ui::tell(&line);
                }
            }
            Self::Tree(screen) => bus.look(|state| screen.update(workflow, state)),
        }
    }

    /// Asks a person, and hears what was typed. None: somebody else has answered.
    fn ask(&mut self, question: &Question) -> BoxFuture<'static, Result<Option<String>, Failure>> {
        match self {
            Self::Lines(_) => person_answers(question.clone()).boxed(),
            Self::Tree(screen) => {
                let answered = screen.ask(question);
                async move { Ok(answered.await.ok()) }.boxed()
            }
        }
    }

    /// Shows what there is to be shown between two changes, for ever. Cancel safe.
    async fn go_on(&mut self) {
        match self {
            Self::Lines(_) => std::future::pending().await,
            Self::Tree(screen) => loop {
                screen.beat().await;
            },
        }
    }

    /// Shows the workflow as it is now for the last time.
    async fn leave(self, workflow: Option<&Workflow>) {
        let Self::Tree(screen) = self else { return };
        screen.leave(workflow.is_some()).await;
        // The tree shows no more of a reason than fits beside it.
        for line in workflow.into_iter().flat_map(report::failures) {
            ui::tell(&line);
        }
        if workflow.is_some() {
            ui::tell("");
        }
    }

    /// Leaves what is shown as it is, soon: the agents wait for their end.
    async fn break_off(self) {
        if tokio::time::timeout(LAST, self.leave(None)).await.is_err() {
            tracing::debug!("the terminal is stopped");
        }
    }
}

/// Why nobody has to follow any more.
enum Ended {
    /// The workflow is over.
    Over(Box<Workflow>),
    /// Somebody asks for the end.
    Asked(Signal),
}

/// Tells what happens until the workflow is over, or a signal asks for the end.
pub(super) async fn follow(
    workflows: &Workflows,
    begun: Begun,
    shutdown: &mut Shutdown,
    approving: Approving,
) -> Result<(), Failure> {
    let mut telling = Telling::of(&begun)?;
    match until_over(workflows, &begun, shutdown, approving, &mut telling).await {
        Ok(Ended::Over(workflow)) => tokio::select! {
            () = telling.leave(Some(&workflow)) => end(workflows, &workflow),
            signal = shutdown.recv() => {
                Err(format!("{signal}: the workflow {}", workflow.status.told()).into())
            }
        },
        Ok(Ended::Asked(signal)) => {
            telling.break_off().await;
            ui::tell(&format!(
                "{signal}: ending the agents in good order; a second signal ends them at once"
            ));
            let id = begun.workflow.id;
            Err(format!(
                "{signal}: the workflow is interrupted; `cli-team-bridge run --resume {id}` goes on with it"
            )
            .into())
        }
        Err(failure) => {
            telling.break_off().await;
            Err(failure)
        }
    }
}

async fn until_over(
    workflows: &Workflows,
    begun: &Begun,
    shutdown: &mut Shutdown,
    approving: Approving,
    telling: &mut Telling,
) -> Result<Ended, Failure> {
    let (id, bus) = (&begun.workflow.id, workflows.team().bus());
    let me = workflows.team().seat().session();
    let mut asked = BTreeSet::new();
    let mut changes = bus.changes();
    let mut answering: Option<BoxFuture<'_, Result<(), Failure>>> = None;
    let mut workflow = workflows.find(id)?;
    loop {
        telling.tell(&workflow, bus, begun.at);
        if workflow.status.is_final() {
            return Ok(Ended::Over(Box::new(workflow)));
        }
        if workflow.status == WorkflowStatus::Interrupted && is_well(bus, me) {
            // This process stood still for so long that it was taken for hung. Where another goes on with it, it is not interrupted.
            ui::tell("this process was suspended for a while; resuming the workflow");
            workflow = workflows.resume(id).await?;
            continue;
        }
        if !approving.has_person {
            for line in bus.look(|state| question::unheard(state, me, &mut asked)) {
                ui::tell(&line);
            }
        }
        if approving.all_steps {
            approve_all(workflows, &workflow, &mut asked).await?;
        }
        if answering.is_none() && approving.has_person {
            let next = bus.look(|state| question::next(&workflow, state, me, &asked));
            if let Some(question) = next {
                asked.insert(question.subject.clone());
                let typed = telling.ask(&question);
                let workflow = workflow.clone();
                answering = Some(answer(workflows, workflow, question, typed).boxed());
            }
        }
        tokio::select! {
            closing = changes.changed() => {
                closing?;
                changes.borrow_and_update();
                workflow = workflows.find(id)?;
            }
            answered = answered(&mut answering) => {
                answering = None;
                answered?;
                workflow = workflows.find(id)?;
            }
            () = telling.go_on() => {}
            signal = shutdown.recv() => return Ok(Ended::Asked(signal)),
        }
    }
}

/// Says whether a session is there and not taken for hung.
fn is_well(bus: &Bus, session: SessionId) -> bool {
    bus.look(|state| state.session(session).is_some_and(|session| !session.hung))
}

async fn answered(
    answering: &mut Option<BoxFuture<'_, Result<(), Failure>>>,
) -> Result<(), Failure> {
    match answering {
        Some(answering) => answering.await,
        None => std::future::pending().await,
    }
}

/// Approves every step that asks, each once.
async fn approve_all(
    workflows: &Workflows,
    workflow: &Workflow,
    asked: &mut BTreeSet<Subject>,
) -> Result<(), Failure> {
    let steps = workflow.steps.iter();
    for step in steps.filter(|step| step.status == StepStatus::Asking) {
        let step = &step.plan.name;
        if asked.insert(Subject::Step(step.clone())) {
            let step = StepOf {
                workflow: workflow.id.clone(),
                step: step.clone(),
            };
            said(workflows, Ask::ApproveStep(step, Approval::Given)).await?;
        }
    }
    Ok(())
}

/// Passes on what a person has typed.
async fn answer(
    workflows: &Workflows,
    workflow: Workflow,
    question: Question,
    typed: BoxFuture<'_, Result<Option<String>, Failure>>,
) -> Result<(), Failure> {
    let Some(typed) = typed.await? else {
        return Ok(());
    };
    said(workflows, question.ask(&workflow, &typed)).await
}

/// Says on the bus what was answered.
async fn said(workflows: &Workflows, ask: Ask) -> Result<(), Failure> {
    match workflows.team().seat().ask(ask).await {
        Ok(_) => Ok(()),
        // Somebody else has answered, or it was too late.
        Err(BusError::Refused(refusal)) => {
            ui::tell(&refusal.to_string());
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

async fn person_answers(question: Question) -> Result<Option<String>, Failure> {
    for line in question.about.iter().chain([&question.text]) {
        ui::tell(line);
    }
    let line = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        stdin().read_line(&mut line).map(|_| line)
    });
    Ok(Some(line.await??))
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
