//! Follows a workflow to its end: reports changes, and passes on the answers of the person at the terminal.

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, stderr, stdin};
use std::path::{Path, PathBuf};
use std::time::Instant;

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::live_screen::Screen;
use super::step_lines::{self, ApprovalFrom, AttemptEnd, StepReport};
use super::terminal_question::{self, Subject, TerminalQuestion};
use super::words_for_user;
use crate::bus::rules::{Approval, Operation};
use crate::bus::state::{StepRun, Workflow};
use crate::bus::{Bus, BusError, PastAttempt};
use crate::cli::signal_policy::StopRequests;
use crate::cli::{Failure, output, with_hint};
use crate::domain::grace_periods;
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::name::Name;
use crate::domain::task::result::{Details, FailedCall};
use crate::domain::workflow::{StepOf, StepStatus, WorkflowStatus};
use crate::sys::process::Signal;
use crate::sys::terminal;
use crate::view::WorkflowTree;
use crate::workflow::Workflows;

/// How questions are answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Approving {
    /// Whether every step is approved without a question.
    all_steps: bool,
    /// Whether a person sees and answers questions at the terminal; else an orchestrator can answer.
    has_person: bool,
}

impl Approving {
    pub(crate) fn of(yes: bool) -> Self {
        Self { all_steps: yes, has_person: stdin().is_terminal() && stderr().is_terminal() }
    }

    fn from(self) -> ApprovalFrom {
        match self {
            Self { all_steps: true, .. } => ApprovalFrom::Option,
            Self { has_person: true, .. } => ApprovalFrom::Terminal,
            Self { .. } => ApprovalFrom::Elsewhere,
        }
    }
}

pub(crate) struct Begun {
    workflow: Workflow,
    at: Instant,
    /// The directory of the transcripts.
    transcripts: PathBuf,
}

impl Begun {
    pub(crate) fn of(workflow: Workflow, transcripts: PathBuf) -> Self {
        Self { workflow, at: Instant::now(), transcripts }
    }
}

/// How progress is reported.
enum Progress {
    /// A line for each change of a step.
    Lines(StepReport),
    /// A tree that is repainted.
    Tree(Box<Screen>),
}

impl Progress {
    fn of(begun: &Begun, approving: Approving, bus: &Bus) -> Result<Self, Failure> {
        if output::can_paint() {
            let tree = bus.look(|state| WorkflowTree::of(&begun.workflow, state));
            let screen = Screen::of(tree, begun.at)?;
            return Ok(Self::Tree(Box::new(screen)));
        }
        output::tell(&format!("{:>7.1} s  {}", 0.0, begun.workflow.id));
        Ok(Self::Lines(StepReport::new(approving.from())))
    }

    fn report(&mut self, workflow: &Workflow, bus: &Bus, at: Instant) {
        match self {
            Self::Lines(lines) => {
                let class = |id: &TaskId| {
                    bus.look(|state| Some(state.task(id)?.error.as_ref()?.class.clone()))
                };
                for line in lines.lines(workflow, at.elapsed(), class) {
                    output::tell(&line);
                }
            }
            Self::Tree(screen) => bus.look(|state| screen.update(workflow, state)),
        }
    }

    /// Asks the person at the terminal, and returns the typed answer; `None` if the question was answered elsewhere.
    fn ask(
        &mut self,
        question: &TerminalQuestion,
    ) -> BoxFuture<'static, Result<Option<String>, Failure>> {
        match self {
            Self::Lines(_) => person_answers(question.clone()).boxed(),
            Self::Tree(screen) => {
                let answered = screen.ask(question);
                async move { Ok(answered.await.ok()) }.boxed()
            }
        }
    }

    /// Repaints the display between two changes, for ever. Cancel safe.
    async fn animate(&mut self) {
        match self {
            Self::Lines(_) => std::future::pending().await,
            Self::Tree(screen) => loop {
                screen.beat().await;
            },
        }
    }

    /// Shows the final state of the workflow.
    async fn leave(self, workflow: Option<&Workflow>) {
        let Self::Tree(screen) = self else { return };
        screen.leave(workflow.is_some()).await;
        if workflow.is_some() {
            output::tell("");
        }
    }

    /// Leaves the display as it is, within a short time: the agents wait for their stop.
    async fn break_off(self) {
        if tokio::time::timeout(grace_periods::LAST_SCREEN, self.leave(None)).await.is_err() {
            tracing::debug!("the terminal did not take the last output in time");
        }
    }
}

/// Why following has ended.
enum FollowEnd {
    /// The workflow is over.
    Over(Box<Workflow>),
    /// A signal requested a stop.
    Signalled(Signal),
}

/// Reports changes until the workflow is over, or a signal requests a stop.
pub(crate) async fn follow(
    workflows: &Workflows,
    begun: Begun,
    stop: &mut StopRequests,
    approving: Approving,
) -> Result<(), Failure> {
    let mut progress = Progress::of(&begun, approving, workflows.team().bus())?;
    // Further signals, which the shutdown of the team handles.
    let further = |stop: &StopRequests| {
        let mut further = stop.clone();
        async move { further.next().await }
    };
    match until_over(workflows, &begun, stop, approving, &mut progress).await {
        Ok(FollowEnd::Over(workflow)) => tokio::select! {
            () = progress.leave(Some(&workflow)) => end(workflows, &workflow, &begun.transcripts),
            signal = further(stop) => {
                Err(format!("{signal}: the workflow {}", workflow.status.phrase()).into())
            }
        },
        Ok(FollowEnd::Signalled(signal)) => {
            tokio::select! {
                () = progress.break_off() => {}
                _ = further(stop) => {}
            }
            output::tell(&format!(
                "{signal}: stopping the agents gracefully, which may take {} s; a second signal kills them",
                grace_periods::BRIDGE.as_secs()
            ));
            let Workflow { id, is_trial, .. } = begun.workflow;
            let next = if is_trial {
                "run the plan again; a trial cannot be resumed".to_owned()
            } else {
                format!("resume it with `cli-team-bridge run --resume {id}`")
            };
            Err(with_hint(format!("{signal}: the workflow is interrupted"), next))
        }
        Err(failure) => {
            progress.break_off().await;
            Err(failure)
        }
    }
}

async fn until_over(
    workflows: &Workflows,
    begun: &Begun,
    stop: &mut StopRequests,
    approving: Approving,
    progress: &mut Progress,
) -> Result<FollowEnd, Failure> {
    let (id, bus) = (&begun.workflow.id, workflows.team().bus());
    let me = workflows.team().membership().session();
    let mut asked = BTreeSet::new();
    let mut changes = bus.changes();
    let mut answering: Option<BoxFuture<'_, Result<Answered, Failure>>> = None;
    // The last question, if its answer was unclear.
    let mut again: Option<TerminalQuestion> = None;
    let mut workflow = workflows.find(id)?;
    loop {
        progress.report(&workflow, bus, begun.at);
        if workflow.status.is_final() {
            return Ok(FollowEnd::Over(Box::new(workflow)));
        }
        if workflow.status == WorkflowStatus::Interrupted && is_well(bus, me) {
            // This process was suspended for so long that it was taken for hung. If another process has resumed the workflow, it is
            // not interrupted.
            output::tell("this process was suspended for a while; resuming the workflow");
            workflow = workflows.resume(id).await.map_err(words_for_user::of_workflow)?;
            continue;
        }
        if !approving.has_person {
            for line in bus.look(|state| terminal_question::unheard(state, me, &mut asked)) {
                output::tell(&line);
            }
        }
        if approving.all_steps {
            approve_all(workflows, &workflow, &mut asked).await?;
        }
        if answering.is_none() && approving.has_person {
            let next = bus.look(|state| {
                let is_open = |question: &TerminalQuestion| {
                    terminal_question::is_open(&question.subject, &workflow, state)
                };
                let again = again.take().filter(is_open);
                again.or_else(|| terminal_question::next(&workflow, state, me, &asked))
            });
            if let Some(question) = next {
                let question = with_prompt(workflows, &workflow, question);
                asked.insert(question.subject.clone());
                let typed = progress.ask(&question);
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
                if let Answered::Unclear(question) = answered? {
                    again = Some(question.again());
                }
                workflow = workflows.find(id)?;
            }
            () = progress.animate() => {}
            signal = stop.next() => return Ok(FollowEnd::Signalled(signal)),
        }
    }
}

/// Adds to a question about a step what the step would do.
fn with_prompt(
    workflows: &Workflows,
    workflow: &Workflow,
    question: TerminalQuestion,
) -> TerminalQuestion {
    let Subject::Step(name) = &question.subject else {
        return question;
    };
    let step = workflow.step(name).filter(|_| question.about.is_none());
    let Some((step, prompt)) = step.zip(workflows.prompt_of(workflow, name)) else {
        return question;
    };
    question.with_prompt(step, &prompt)
}

/// Returns whether a session is live and not taken for hung.
fn is_well(bus: &Bus, session: SessionId) -> bool {
    bus.look(|state| state.session(session).is_some_and(|session| !session.hung))
}

/// What a person's typed answer led to.
enum Answered {
    /// It is recorded, or no longer needed.
    Settled,
    /// It is neither yes nor no, so this question is asked again.
    Unclear(TerminalQuestion),
}

async fn answered(
    answering: &mut Option<BoxFuture<'_, Result<Answered, Failure>>>,
) -> Result<Answered, Failure> {
    match answering {
        Some(answering) => answering.await,
        None => std::future::pending().await,
    }
}

/// Approves every step that waits for approval, each once.
async fn approve_all(
    workflows: &Workflows,
    workflow: &Workflow,
    asked: &mut BTreeSet<Subject>,
) -> Result<(), Failure> {
    let steps = workflow.steps.iter();
    for step in steps.filter(|step| step.status == StepStatus::Asking) {
        let step = &step.plan.name;
        if asked.insert(Subject::Step(step.clone())) {
            let step = StepOf { workflow: workflow.id.clone(), step: step.clone() };
            record(workflows, Operation::ApproveStep(step, Approval::Given)).await?;
        }
    }
    Ok(())
}

/// Passes on the answer that a person types.
async fn answer(
    workflows: &Workflows,
    workflow: Workflow,
    question: TerminalQuestion,
    typed: BoxFuture<'_, Result<Option<String>, Failure>>,
) -> Result<Answered, Failure> {
    let Some(typed) = typed.await? else {
        return Ok(Answered::Settled);
    };
    let Some(answer) = question.ask(&workflow, &typed) else {
        return Ok(Answered::Unclear(question));
    };
    record(workflows, answer).await?;
    Ok(Answered::Settled)
}

/// Records an answer on the bus.
async fn record(workflows: &Workflows, answer: Operation) -> Result<(), Failure> {
    match workflows.team().membership().ask(answer).await {
        Ok(_) => Ok(()),
        // It was answered elsewhere, or too late.
        Err(BusError::Refused(refusal)) => {
            output::tell(&words_for_user::of_answer(refusal));
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

async fn person_answers(question: TerminalQuestion) -> Result<Option<String>, Failure> {
    // Input typed before the question does not answer it.
    terminal::drop_typed(stdin());
    for line in question.about.iter().chain([&question.text]) {
        output::tell(line);
    }
    let line = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        stdin().read_line(&mut line).map(|_| line)
    });
    Ok(Some(line.await??))
}

/// Returns the lines of all attempts after which a step waited for another one, each with the name of its step.
fn past_attempts(bus: &Bus, workflow: &Workflow) -> Vec<(Name, String)> {
    let was_tried_again =
        |step: &StepRun| [step.failures, step.rounds, step.passed, step.interruptions] != [0; 4];
    if !workflow.steps.iter().any(was_tried_again) {
        return Vec::new();
    }
    let past = bus.past_attempts(&workflow.id).unwrap_or_else(|error| {
        output::tell(&format!("warning: the reasons of earlier attempts cannot be read: {error}"));
        Vec::new()
    });
    let line = |past: PastAttempt| {
        let given = past.given.as_ref();
        let task = given.and_then(|(_, id)| bus.find_task(id).ok().flatten());
        let ended = AttemptEnd {
            number: past.number,
            has_begun: past.has_begun,
            agent: given.map(|(agent, _)| agent),
            again: past.again,
            class: task.and_then(|task| task.error).map(|error| error.class),
            why: &past.why,
        };
        (past.step.clone(), ended.in_summary())
    };
    past.into_iter().map(line).collect()
}

/// Returns the failed calls of the steps that are done all the same, each with the name of its step. An agent may end well after its
/// user has refused what it asked.
fn failed_calls(bus: &Bus, workflow: &Workflow) -> Vec<(Name, FailedCall)> {
    let done = workflow.steps.iter().filter(|step| step.status == StepStatus::Done);
    let of_step = |step: &StepRun| {
        let task = bus.find_task(step.task.as_ref()?).ok()??;
        let details = bus.details(task.output.filter(|_| task.has_details)?).ok()??;
        let details: Details = serde_json::from_str(&details).ok()?;
        let calls = details.failed_calls.into_iter();
        Some(calls.map(|call| (step.plan.name.clone(), call)).collect::<Vec<_>>())
    };
    done.filter_map(of_step).flatten().collect()
}

/// Prints how the workflow ended, with the output of the last steps that ran, and where the transcript of each step is.
fn end(workflows: &Workflows, workflow: &Workflow, transcripts: &Path) -> Result<(), Failure> {
    let bus = workflows.team().bus();
    let past = past_attempts(bus, workflow);
    let tree = bus.look(|state| WorkflowTree::of(workflow, state));
    output::say(&step_lines::summary(&tree, workflow, &past));
    for line in step_lines::failed_calls(&failed_calls(bus, workflow)) {
        output::say(&line);
    }
    for step in step_lines::last(workflow) {
        let Some(id) = &step.task else { continue };
        let task = bus.find_task(id)?;
        if let Some(body) = task.and_then(|task| task.output) {
            let text = bus.text(body)?;
            let text = if text.trim().is_empty() { "(no output)" } else { text.trim_end() };
            output::say(&format!("\n{}:\n{text}", step.plan.name));
        }
    }
    let here = std::env::current_dir().unwrap_or_default();
    let below = transcripts.strip_prefix(here).unwrap_or(transcripts);
    let is_there = |name: &str| transcripts.join(name).is_file();
    for line in step_lines::transcripts(workflow, below, is_there) {
        output::tell(&line);
    }
    match workflow.status {
        WorkflowStatus::Done => Ok(()),
        status => Err(format!("the workflow {}", status.phrase()).into()),
    }
}
