//! The actor of one agent: the only owner of its process, its connection and its turn.
//!
//! It sleeps until the bus changes, the agent says something, its turn or its process ends, or a deadline passes; then it
//! looks at the whole picture again and lets [`next_step::next`] decide. Nothing else acts on the agent.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::lifetime::{Begin, ProcessEnd};
use super::model_and_mode::Offers;
use super::next_step::{self, AgentOnBus, NextStep, Situation, TurnSituation};
use super::pending_writes::Unwritten;
use super::replace_process::Renewal;
use super::start_process::{self, Started, Terms, told_exit};
use crate::acp::{
    AcpError, AcpSessionId, AgentEvents, Connection, Feature, PromptOutcome, SessionInfo,
};
use crate::bus::event::Runs;
use crate::bus::rules::Operation;
use crate::bus::state::{State, StopMode};
use crate::bus::{BusError, Membership, Receipt};
use crate::config::Profile;
use crate::domain::ids::{CommandId, SessionId, TaskId};
use crate::domain::member::{Departure, ProcessMark, Tools};
use crate::domain::task::result::Context;
use crate::domain::text::redact::{Hidden, Secrets};
use crate::supervisor::Supervised;
use crate::sys::random_ids;
use crate::team::launch::{Launch, NewAgentIdentity};
use crate::team::permissions::ask::Questions;
use crate::team::permissions::user_reachable::UserReachable;
use crate::team::results::collect::{Spending, beginning};
use crate::team::results::error_advice::Advice;
use crate::team::stop::stop_agent;
use crate::team::turn::deliver_mid_turn::MidTurnDelivery;
use crate::team::turn::turn_record::Turn;

/// How long a process may live on after it closed its stdout: an exit takes milliseconds.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// How long to wait before a step is tried again that had no effect.
const AGAIN: Duration = Duration::from_millis(200);

pub(crate) struct Actor {
    /// The bridge's own membership, in whose name everything is written.
    pub(crate) membership: Membership,
    pub(crate) launch: Arc<Launch>,
    pub(crate) program: PathBuf,
    pub(crate) profile: Profile,
    pub(crate) identity: NewAgentIdentity,
    pub(crate) hurry: CancellationToken,
    pub(crate) child: Supervised,
    pub(crate) connection: Connection,
    pub(crate) events: AgentEvents,
    pub(crate) acp: SessionInfo,
    pub(crate) endpoint: crate::acp::McpServerSpec,
    pub(crate) session_since: Instant,
    /// When it was first seen whether the session has our tools.
    pub(crate) tools_since: Option<Instant>,
    /// Whether the agent's session knows who it is.
    pub(crate) primed: bool,
    /// Whether the session has had a turn.
    pub(crate) used: bool,
    pub(crate) turn: Option<Turn>,
    /// What has happened and is not on the bus yet.
    pub(crate) unwritten: Unwritten,
    pub(crate) questions: Questions,
    /// What must not be written down.
    pub(crate) secrets: Secrets,
    /// Files that are being read and written for the agent.
    pub(crate) files: JoinSet<()>,
    pub(crate) human: UserReachable,
    pub(crate) stopping_since: Option<Instant>,
    /// What goes into its turns.
    pub(crate) ladder: MidTurnDelivery,
    /// The task in whose turn an earlier process ended.
    pub(crate) interrupted: Option<TaskId>,
    /// The command that goes on with it.
    pub(crate) resuming: CommandId,
    /// Whether the session is an earlier process's, taken up again.
    pub(crate) resumed: bool,
    /// What the conversation knows when the next turn begins.
    pub(crate) context: Context,
    /// What the session has cost.
    pub(crate) spending: Spending,
    /// Where it tells which models it offers.
    pub(crate) offers: Offers,
    pub(crate) stall: Duration,
    pub(crate) output_per_second: u64,
}

/// Returns what an earlier process has left: the task that it began, as only such can be running already, and its model.
fn left_by(state: &State, session: SessionId) -> (Option<TaskId>, Option<String>) {
    let live = state.session(session);
    let (running, model) = live.map(|live| (live.running.clone(), live.model.clone())).unzip();
    (running.flatten(), model.flatten())
}

/// Writes down which processes an agent has, so that they are found when this bridge is dead. Without that the mark in their
/// environment still finds them.
pub(crate) async fn record_run(
    membership: &Membership,
    session: SessionId,
    child: &Supervised,
    place: Option<String>,
) {
    let runs = runs(session, (child, place), None);
    match membership.ask(Operation::Runs(Box::new(runs))).await {
        Ok(_) | Err(BusError::Refused(_)) => {}
        Err(error) => tracing::warn!("failed to record the processes of an agent: {error}"),
    }
}

fn runs(
    session: SessionId,
    (child, place): (&Supervised, Option<String>),
    acp_session: Option<Hidden>,
) -> Runs {
    let mark = |(pid, started)| ProcessMark { pid, started };
    Runs {
        session,
        agent: mark((child.pid(), child.start_time())),
        shim: child.shim().map(mark),
        acp_session: acp_session.map(Hidden::into),
        place,
    }
}

impl Actor {
    /// Starts the process; `earlier` is the session of the process before, to be taken up again.
    pub(crate) async fn start(
        begin: Begin,
        earlier: Option<AcpSessionId>,
    ) -> Result<Self, ProcessEnd> {
        let Begin {
            membership,
            launch,
            profile,
            program,
            identity,
            hurry,
            human,
            stall,
            output_per_second,
            earlier: _,
            offers,
        } = begin;
        let now_ms = membership.bus().now().wall_ms;
        let failed = |error: start_process::StartError| ProcessEnd {
            error: error.task_error(Advice::of(&profile, now_ms)),
            ..ProcessEnd::new(Departure::Failed, Some(error.to_string()))
        };
        let presence = membership.bus().share(identity.session);
        let (child, pipes) =
            start_process::spawn(&launch, &profile, program.clone(), &identity, presence)
                .await
                .map_err(failed)?;
        record_run(&membership, identity.session, &child, launch.place()).await;
        let secrets = launch.secrets(&profile, &identity.token);
        let endpoint = launch.endpoint(&identity, &profile);
        let (interrupted, model) = membership.bus().look(|state| left_by(state, identity.session));
        let terms = Terms {
            profile: &profile,
            model: model.as_deref(),
            earlier: earlier.as_ref(),
            output_per_second,
            now_ms,
            secrets: &secrets,
        };
        let starting = start_process::connect_to(child.clone(), pipes, endpoint, &identity, terms);
        let started = tokio::select! {
            started = starting => started,
            wanted = stop_wanted(&membership, identity.session, &hurry, |_| true) => {
                let left = stop_agent::stop(&child, None, wanted, &hurry).await;
                return Err(ProcessEnd::new(Departure::Stopped, left));
            }
        };
        let Started { child, connection, events, session: acp, endpoint, resumed } = match started {
            Ok(started) => started,
            Err(error) => {
                let ended = failed(error);
                // It may run still, and not be an agent.
                let left = stop_agent::stop(&child, None, StopMode::AtOnce, &hurry).await;
                return Err(ProcessEnd { detail: left.or(ended.detail), ..ended });
            }
        };
        let (context, spending) = beginning(earlier.is_some(), resumed);
        let mut actor = Self {
            membership,
            launch,
            program,
            profile,
            identity,
            hurry,
            child,
            connection,
            events,
            acp,
            endpoint,
            session_since: Instant::now(),
            tools_since: None,
            primed: resumed,
            used: resumed,
            turn: None,
            unwritten: Unwritten::default(),
            questions: Questions::default(),
            secrets,
            files: JoinSet::new(),
            human,
            stopping_since: None,
            ladder: MidTurnDelivery::default(),
            interrupted,
            resuming: random_ids::command(),
            resumed,
            context,
            spending,
            offers,
            stall,
            output_per_second,
        };
        actor.record_session().await;
        actor.announce().await;
        Ok(actor)
    }

    /// Puts on the bus, and on disk, which ACP session the agent has: before its first prompt.
    pub(crate) async fn record_session(&mut self) {
        let run = (&self.child, self.launch.place());
        let id = start_process::written(&self.acp.id, &self.secrets, &self.identity.name);
        let runs = runs(self.identity.session, run, id);
        self.record(Operation::Runs(Box::new(runs))).await;
    }

    pub(crate) async fn announce(&mut self) {
        self.offers.note(self.identity.session, &self.acp);
        let ready = Operation::Ready {
            session: self.identity.session,
            model: self.acp.model().map(Hidden::into),
            pid: self.child.pid(),
        };
        self.record(ready).await;
        self.announce_ways().await;
    }

    pub(crate) async fn live(mut self) -> ProcessEnd {
        let mut changes = self.membership.bus().changes();
        let hurry = self.hurry.clone();
        let mut last: Option<NextStep> = None;
        loop {
            if self.hurry.is_cancelled() {
                return self.stop(StopMode::AtOnce).await;
            }
            self.tend_questions().await;
            self.tend_ladder().await;
            let until = match self.next_step() {
                NextStep::Stop(wanted) => return self.stop(wanted).await,
                NextStep::Abandon => return self.stop(StopMode::AtOnce).await,
                NextStep::Renew => match self.renew_unless_stopped().await {
                    Renewal::Done => continue,
                    Renewal::Stopped(wanted) => return self.stop(wanted).await,
                    Renewal::Failed(detail, error) => {
                        let ended = ProcessEnd::new(Departure::Failed, Some(detail));
                        let unwritten = self.unwritten;
                        return ProcessEnd { unwritten, error, ..ended };
                    }
                },
                NextStep::Rest(until) => {
                    last = None;
                    until
                }
                // Also when the agent's end is asked for meanwhile: what it has done is kept.
                NextStep::GiveUpTask => {
                    self.give_up_task().await;
                    continue;
                }
                step => {
                    if last.as_ref() == Some(&step) {
                        // The bus did not take it: it is busy, or another has written our end. Do not ask without a break.
                        tokio::time::sleep(AGAIN).await;
                    }
                    last = Some(step.clone());
                    if let Some(wanted) = self.take_unless_stopped(step).await {
                        return self.stop(wanted).await;
                    }
                    continue;
                }
            };
            // Asked for each time, as the process may be another one.
            let exited = self.child.exited();
            let until = until.into_iter().chain(self.questions.deadline()).min();
            tokio::select! {
                // An error means that the bus is closed, and this process with it.
                closing = changes.changed() => if closing.is_err() { return self.stop(StopMode::AtOnce).await },
                event = self.events.recv() => match event {
                    Some(event) => self.hear(event),
                    None => return self.lost().await,
                },
                ended = ended(&mut self.turn) => {
                    if self.end_turn(ended).await {
                        return self.lost().await;
                    }
                }
                looked = self.questions.looked() => self.see(looked),
                told = self.ladder.told() => self.steered(told).await,
                exit = exited => {
                    self.hear_out().await;
                    return self.died(exit);
                }
                () = sleep_until(until) => {}
                // The top of the loop looks.
                () = hurry.cancelled() => {}
            }
        }
    }

    /// PathExaminer at the whole picture and decides.
    fn next_step(&mut self) -> NextStep {
        let session = self.identity.session;
        let tried = &mut self.ladder.tried;
        let wishes = self.membership.bus().look(|state| {
            tried.forget_ended(state, &self.identity.name);
            AgentOnBus::of(state, session, tried)
        });
        let now = Instant::now();
        self.stopping_since = wishes.stop.map(|_| self.stopping_since.unwrap_or(now));
        self.listen(now);
        if wishes.live && !wishes.unproven {
            self.tools_since.get_or_insert(now);
        }
        let turn = self.turn.as_ref().map(|turn| TurnSituation {
            cancelled: turn.cancelled,
            given_up: turn.given_up,
            asking: self.questions.are_open(),
            heard: turn.heard,
            stirred: turn.stirred,
            interrupted: turn.interrupted.is_some(),
            calls: turn.calls.running().next().is_some(),
        });
        let situation = Situation {
            now,
            session_since: self.session_since,
            settled: self.tools_since.map(|since| since + self.profile.settle.value),
            renews: self.used && self.profile.one_session.value,
            turn,
            stopping_since: self.stopping_since,
            woken: self.ladder.woken,
            reach: self.reach(),
            steering: self.ladder.is_steering(),
            steer_after: self.ladder.not_before(),
            cut: self.ladder.task_to_go_on(),
            interrupted: self.interrupted.clone(),
            unwritten: self.unwritten.due(now),
            stall: self.stall,
        };
        next_step::next(&wishes, &situation)
    }

    /// Notes whether the agent has said anything since last looked, be it noise.
    fn listen(&mut self, now: Instant) {
        let counts = self.connection.line_counts();
        let lines = counts.lines + counts.noise + counts.oversize;
        let so_far = (lines, self.child.stderr_bytes());
        if let Some(turn) = &mut self.turn
            && turn.heard_so_far != so_far
        {
            turn.heard_so_far = so_far;
            turn.heard = now;
        }
    }

    /// Takes a step, unless the agent's end is asked for meanwhile: the agent may not answer what the step asks it. Returns
    /// how it is to end then.
    async fn take_unless_stopped(&mut self, step: NextStep) -> Option<StopMode> {
        // As long as no turn runs, a graceful end has nothing to wait for.
        let between_turns = self.turn.is_none();
        let counts = move |wanted| between_turns || wanted == StopMode::AtOnce;
        let (membership, hurry) = (self.membership.clone(), self.hurry.clone());
        let session = self.identity.session;
        tokio::select! {
            // A turn that has begun has the grace of one.
            biased;
            () = self.take(step) => None,
            wanted = stop_wanted(&membership, session, &hurry, counts) => Some(wanted),
        }
    }

    async fn take(&mut self, step: NextStep) {
        match step {
            NextStep::CancelTurn => self.cancel_turn().await,
            NextStep::Write => self.unwritten.write(&self.membership).await,
            NextStep::MissTools => {
                let session = self.identity.session;
                self.write(Operation::Tools { session, tools: Tools::Missing }).await;
            }
            NextStep::Stall => {
                let silent_ms = u64::try_from(self.stall.as_millis()).unwrap_or(u64::MAX);
                self.write(Operation::Stall(self.identity.session, silent_ms)).await;
            }
            NextStep::Stir => {
                self.write(Operation::Stir(self.identity.session)).await;
                if let Some(turn) = &mut self.turn {
                    turn.stirred = Instant::now();
                }
            }
            NextStep::Steer => self.steer().await,
            NextStep::Interrupt => self.interrupt().await,
            NextStep::GoOn(task) => self.go_on(task).await,
            NextStep::Resume(task) => self.resume_task(task).await,
            NextStep::Begin(task) => self.begin_task(task).await,
            NextStep::Wake(newest) => self.begin_wake(newest).await,
            NextStep::Stop(_)
            | NextStep::Abandon
            | NextStep::Renew
            | NextStep::GiveUpTask
            | NextStep::Rest(_) => {}
        }
    }

    async fn stop(self, wanted: StopMode) -> ProcessEnd {
        let Self { child, connection, acp, events, turn, questions, hurry, unwritten, .. } = self;
        // From here on questions are answered `cancelled`, and nothing that the agent says is of interest.
        drop(questions);
        drop(events);
        drop(turn);
        let left = stop_agent::stop(&child, Some((&connection, &acp.id)), wanted, &hurry).await;
        ProcessEnd { unwritten, ..ProcessEnd::new(Departure::Stopped, left) }
    }

    /// The connection is over: the process ends too, or is ended.
    async fn lost(self) -> ProcessEnd {
        if let Ok(exit) = tokio::time::timeout(LAST_BREATH, self.child.exited()).await {
            self.died(exit)
        } else {
            let why = self.connection.closed().await.to_string();
            let detail = told_exit(&self.child, &why, &self.secrets);
            let left = stop_agent::stop(&self.child, None, StopMode::AtOnce, &self.hurry).await;
            self.failed(left.unwrap_or(detail))
        }
    }

    /// Takes in what a process that has ended still said.
    async fn hear_out(&mut self) {
        let rest = async {
            while let Some(event) = self.events.recv().await {
                self.hear(event);
            }
        };
        // Somebody who left its group may hold its stdout open.
        if tokio::time::timeout(LAST_BREATH, rest).await.is_err() {
            tracing::debug!("the stdout of {} stayed open after it exited", self.identity.name);
        }
    }

    fn died(self, exit: crate::supervisor::Exit) -> ProcessEnd {
        if self.stopping_since.is_some() {
            return ProcessEnd {
                unwritten: self.unwritten,
                ..ProcessEnd::new(Departure::Stopped, None)
            };
        }
        let detail = told_exit(&self.child, &exit.to_string(), &self.secrets);
        self.failed(detail)
    }

    /// The end of a process that nobody wanted, with what a new one may go on with.
    fn failed(self, detail: String) -> ProcessEnd {
        let agent = self.connection.agent();
        let offers = |feature| agent.is_some_and(|agent| agent.offers(feature));
        let can_go_on = offers(Feature::Resume) || offers(Feature::Load);
        ProcessEnd {
            departure: Departure::Failed,
            detail: Some(detail),
            session: (can_go_on && self.used).then_some(self.acp.id),
            unwritten: self.unwritten,
            error: None,
        }
    }

    /// Writes what has happened: again and again, until the bus has taken it.
    pub(crate) async fn record(&mut self, ask: Operation) {
        let is_first = self.unwritten.is_empty();
        self.unwritten.push(ask);
        if is_first {
            self.unwritten.write(&self.membership).await;
        }
    }

    /// Writes something in the bridge's name that is of no interest later. A refusal means that the world has moved on; an error is told to people.
    pub(crate) async fn write(&self, ask: Operation) -> Option<Receipt> {
        match self.membership.ask(ask).await {
            Ok(receipt) => Some(receipt),
            Err(BusError::Refused(refusal)) => {
                tracing::debug!("the bus refused an event of {}: {refusal}", self.identity.name);
                None
            }
            Err(error) => {
                tracing::warn!("failed to record an event of {}: {error}", self.identity.name);
                None
            }
        }
    }

    /// Writes a line into the transcript of the turn.
    pub(crate) fn transcribe(&self, transcript: &TaskId, line: String) {
        let line = self.secrets.hidden(line);
        self.membership.bus().transcript(transcript, line.as_str());
    }

    pub(crate) fn wall_ms(&self) -> i64 {
        self.membership.bus().now().wall_ms
    }
}

/// Waits for the end of the turn, if one runs.
async fn ended(turn: &mut Option<Turn>) -> Result<PromptOutcome, AcpError> {
    match turn {
        Some(turn) => match (&mut turn.prompting).await {
            Ok(ended) => ended,
            Err(error) => Err(AcpError::Malformed {
                method: "session/prompt".into(),
                problem: error.to_string(),
            }),
        },
        None => std::future::pending().await,
    }
}

async fn sleep_until(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until).await,
        None => std::future::pending().await,
    }
}

/// Waits until somebody wants an agent's end in a way that counts, or until its session is gone.
pub(crate) async fn stop_wanted(
    membership: &Membership,
    session: SessionId,
    hurry: &CancellationToken,
    counts: impl Fn(StopMode) -> bool,
) -> StopMode {
    let mut changes: watch::Receiver<u64> = membership.bus().changes();
    loop {
        let wanted = membership.bus().look(|state| match state.session(session) {
            Some(live) => live.stop,
            None => Some(StopMode::AtOnce),
        });
        if let Some(wanted) = wanted.filter(|wanted| counts(*wanted)) {
            return wanted;
        }
        let closing = tokio::select! {
            outcome = changes.changed() => outcome.is_err(),
            () = hurry.cancelled() => true,
        };
        if closing {
            return StopMode::AtOnce;
        }
    }
}
