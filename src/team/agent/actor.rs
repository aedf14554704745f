//! The actor of one agent: the only owner of its process, its connection and its turn.
//!
//! It sleeps until the bus changes, the agent sends something, its turn or its process ends, or a deadline passes. Then it looks at
//! the whole picture again and lets [`next_step::next`] decide. Nothing else acts on the agent.
//!
//! This file has its state, its loop and its steps. Incoming events, the replacement of its process and the end of one are in the
//! files below; `team::turn` begins and ends its turns.

mod ending;
mod incoming;
mod replace_process;

use std::sync::Arc;

use tokio::time::Instant;

use self::replace_process::Replacement;
use super::context::AgentContext;
use super::next_step::{self, AgentOnBus, NextStep, Situation, TurnSituation};
use super::pending_writes::Unwritten;
use super::process_end::ProcessEnd;
use super::process_record::{self, record_process};
use super::start_process::{self, AgentProcess, Continued, StartError};
use crate::acp::{AcpError, AcpSessionId, PromptOutcome};
use crate::bus::rules::Operation;
use crate::bus::state::{State, StopMode};
use crate::domain::ids::{CommandId, SessionId, TaskId};
use crate::domain::member::{Departure, Tools};
use crate::domain::task::TaskStatus;
use crate::domain::text::redact::Hidden;
use crate::domain::wait_times;
use crate::supervisor::hold_children;
use crate::sys::random_ids;
use crate::team::permissions::open_questions::OpenQuestions;
use crate::team::results::session_cost::{SessionCost, at_start_of_process};
use crate::team::stop::stop_agent;
use crate::team::turn::conversation::Conversation;
use crate::team::turn::deliver_mid_turn::{LiveAgent, MidTurnDelivery};
use crate::team::turn::turn_record::Turn;

pub(crate) struct Actor {
    pub(crate) agent: Arc<AgentContext>,
    pub(crate) process: AgentProcess,
    pub(crate) session_since: Instant,
    /// When the bus first said whether the session has our tools.
    pub(crate) tools_since: Option<Instant>,
    pub(crate) turn: Option<Turn>,
    /// Events that are not on the bus yet.
    pub(crate) unwritten: Unwritten,
    pub(crate) questions: OpenQuestions,
    pub(crate) stopping_since: Option<Instant>,
    pub(crate) mid_turn: MidTurnDelivery,
    /// The task in whose turn an earlier process ended.
    pub(crate) interrupted: Option<TaskId>,
    /// The id of the command that continues it.
    pub(crate) resuming: CommandId,
    pub(crate) conversation: Conversation,
    pub(crate) session_cost: SessionCost,
}

/// Returns what an earlier process left: its model, and the task that it began. No other task can be running already.
fn left_by(state: &State, session: SessionId) -> (Option<TaskId>, Option<String>) {
    let live = state.session(session);
    let (running, model) = live.map(|live| (live.running.clone(), live.model.clone())).unzip();
    (running.flatten(), model.flatten())
}

impl Actor {
    /// Starts the process; `earlier` is the session of the previous one, to be resumed.
    pub(crate) async fn start(
        agent: Arc<AgentContext>,
        earlier: Option<AcpSessionId>,
    ) -> Result<Self, ProcessEnd> {
        let failed = |error: StartError| ProcessEnd {
            error: error.task_error(agent.advice()),
            ..ProcessEnd::new(Departure::Failed, Some(error.to_string()))
        };
        let (child, pipes) = start_process::spawn(&agent).await.map_err(failed)?;
        record_process(&agent, &child).await;
        let (interrupted, model) = agent.bus().look(|state| left_by(state, agent.session()));
        let continued = Continued { session: earlier.as_ref(), model: model.as_deref() };
        let starting = start_process::connect_to(&agent, child.clone(), pipes, continued);
        let started = tokio::select! {
            started = starting => started,
            mode = agent.stop_requested(|_| true) => {
                let left = stop_agent::stop(&child, None, mode, &agent.force_stop).await;
                return Err(ProcessEnd::new(Departure::Stopped, left));
            }
        };
        let process = match started {
            Ok(process) => process,
            Err(error) => {
                let ended = failed(error);
                // The process may still run, and not be an agent.
                let left =
                    stop_agent::stop(&child, None, StopMode::AtOnce, &agent.force_stop).await;
                return Err(ProcessEnd { detail: left.or(ended.detail), ..ended });
            }
        };
        let resumed = process.resumed;
        let (context, session_cost) = at_start_of_process(earlier.is_some(), resumed);
        let since_seq = agent.bus().look(|state| {
            let first = state.session(agent.session()).filter(|_| earlier.is_none());
            first.map(|session| session.since_seq)
        });
        let began_seq = since_seq.unwrap_or_else(|| agent.next_seq());
        let conversation = Conversation::at_start(resumed, context, began_seq);
        let mut actor = Self {
            agent,
            process,
            session_since: Instant::now(),
            tools_since: None,
            turn: None,
            unwritten: Unwritten::default(),
            questions: OpenQuestions::default(),
            stopping_since: None,
            mid_turn: MidTurnDelivery::default(),
            interrupted,
            resuming: random_ids::command(),
            conversation,
            session_cost,
        };
        actor.record_session().await;
        actor.announce().await;
        Ok(actor)
    }

    /// Records the agent's ACP session on the bus, and on disk, before its first prompt.
    pub(crate) async fn record_session(&mut self) {
        let AgentProcess { child, session, .. } = &self.process;
        let record = process_record::of_session(&self.agent, child, &session.id);
        self.record(record).await;
    }

    pub(crate) async fn announce(&mut self) {
        self.agent.offers.note(self.agent.session(), &self.process.session);
        let version = self.process.connection.agent().and_then(|agent| agent.version.clone());
        self.agent.offers.note_version(self.agent.session(), version);
        let ready = Operation::Ready {
            session: self.agent.session(),
            model: self.process.session.model().map(Hidden::into),
            pid: self.process.child.pid(),
        };
        self.record(ready).await;
        let (mid_turn, mut live) = self.mid_turn();
        mid_turn.announce_methods(&mut live).await;
    }

    pub(crate) async fn live(mut self) -> ProcessEnd {
        let mut changes = self.agent.bus().changes();
        let agent = Arc::clone(&self.agent);
        let mut last: Option<NextStep> = None;
        loop {
            if self.agent.force_stop.is_cancelled() {
                return self.stop(StopMode::AtOnce).await;
            }
            self.questions.tend(&self.agent, &mut self.turn).await;
            let (mid_turn, live) = self.mid_turn();
            mid_turn.tend(live).await;
            let until = match self.next_step() {
                NextStep::Stop(mode) => return self.stop(mode).await,
                NextStep::Abandon => return self.stop(StopMode::AtOnce).await,
                NextStep::Renew => match self.replace_unless_stopped().await {
                    Replacement::Done => continue,
                    Replacement::Stopped(mode) => return self.stop(mode).await,
                    Replacement::Failed(detail, error) => {
                        let ended = ProcessEnd::new(Departure::Failed, Some(detail));
                        let unwritten = self.unwritten;
                        return ProcessEnd { unwritten, error, ..ended };
                    }
                },
                NextStep::Rest(until) => {
                    last = None;
                    until
                }
                // Even if a stop is requested meanwhile: the output of the task is kept.
                NextStep::AbandonTask => {
                    self.abandon_task().await;
                    continue;
                }
                step => {
                    if last.as_ref() == Some(&step) {
                        // The bus did not accept it: it is busy, or another process has recorded our end. Pause before the next
                        // try.
                        tokio::time::sleep(wait_times::RETRY).await;
                    }
                    last = Some(step.clone());
                    if let Some(mode) = self.take_unless_stopped(step).await {
                        return self.stop(mode).await;
                    }
                    continue;
                }
            };
            // Fetched in each round: the process may have been replaced.
            let exited = self.process.child.exited();
            let until = until.into_iter().chain(self.questions.deadline()).min();
            tokio::select! {
                // An error means that the bus is closed, and this process with it.
                closing = changes.changed() => if closing.is_err() { return self.stop(StopMode::AtOnce).await },
                event = self.process.events.recv() => match event {
                    Some(event) => self.hear(event),
                    None => return self.lost().await,
                },
                ended = ended(&mut self.turn) => {
                    if self.end_turn(ended).await {
                        return self.lost().await;
                    }
                }
                examined = self.questions.looked() => {
                    self.questions.consider_examined(&self.agent, &mut self.turn, examined);
                }
                outcome = self.mid_turn.steering_done() => {
                    let (mid_turn, live) = self.mid_turn();
                    mid_turn.steered(live, outcome).await;
                }
                exit = exited => {
                    self.hear_out().await;
                    return self.died(exit);
                }
                () = sleep_until(until) => {}
                // The top of the loop checks it.
                () = agent.force_stop.cancelled() => {}
            }
        }
    }

    /// Looks at the whole picture and decides.
    fn next_step(&mut self) -> NextStep {
        let session = self.agent.session();
        let interrupt = self.agent.profile.interrupt.value;
        let tried = &mut self.mid_turn.tried;
        let on_bus = self.agent.bus().look(|state| {
            tried.forget_ended(state, self.agent.name());
            AgentOnBus::of(state, session, tried, interrupt)
        });
        let now = Instant::now();
        self.stopping_since = on_bus.stop.map(|_| self.stopping_since.unwrap_or(now));
        self.listen(now);
        if on_bus.live && !on_bus.unproven {
            self.tools_since.get_or_insert(now);
        }
        if let Some(turn) = self.turn.as_mut().filter(|_| on_bus.waits) {
            turn.waited = Some(now);
        }
        let turn = self.turn.as_ref().map(|turn| TurnSituation {
            cancelled: turn.cancelled,
            abandoned: turn.abandoned,
            asking: self.questions.are_open(),
            heard: turn.heard,
            waited: turn.waited,
            stirred: turn.stirred,
            interrupted: turn.interrupted.is_some(),
            calls: turn.calls.running().next().is_some(),
        });
        let situation = Situation {
            now,
            session_since: self.session_since,
            settled: self.tools_since.map(|since| since + self.agent.profile.settle.value),
            renews: self.conversation.used && self.agent.profile.one_session.value,
            turn,
            stopping_since: self.stopping_since,
            woken: self.mid_turn.woken,
            reach: self.mid_turn.reach(&self.agent, &self.process.connection),
            steering: self.mid_turn.is_steering(),
            steer_after: self.mid_turn.not_before(),
            cut: self.mid_turn.task_to_continue(),
            interrupted: self.interrupted.clone(),
            unwritten: self.unwritten.due(now),
            stall: self.agent.stall,
        };
        next_step::next(&on_bus, &situation)
    }

    /// Notes whether the agent has sent anything since the last look. What its program logs, on stderr or between its messages, is no sign
    /// of its turn: a program whose model hangs logs each time that it tries again.
    fn listen(&mut self, now: Instant) {
        let counts = self.process.connection.line_counts();
        let so_far = counts.lines + counts.oversize;
        if let Some(turn) = &mut self.turn
            // One that is held cannot be heard.
            && (turn.heard_so_far != so_far || hold_children::is_holding())
        {
            turn.heard_so_far = so_far;
            turn.heard = now;
        }
    }

    /// Takes a step, unless a stop is requested meanwhile: the agent may never answer the step's request. Returns how to stop then.
    async fn take_unless_stopped(&mut self, step: NextStep) -> Option<StopMode> {
        // While no turn runs, a graceful stop has nothing to wait for.
        let between_turns = self.turn.is_none();
        let counts = move |mode| between_turns || mode == StopMode::AtOnce;
        let agent = Arc::clone(&self.agent);
        tokio::select! {
            // A turn that has begun gets the grace period of a turn.
            biased;
            () = self.take(step) => None,
            mode = agent.stop_requested(counts) => Some(mode),
        }
    }

    async fn take(&mut self, step: NextStep) {
        match step {
            NextStep::CancelTurn => self.cancel_turn().await,
            NextStep::Write => self.unwritten.write(&self.agent.membership).await,
            NextStep::MissTools => {
                let session = self.agent.session();
                self.agent.write(Operation::Tools { session, tools: Tools::Missing }).await;
            }
            NextStep::Stall => {
                let silent_ms = u64::try_from(self.agent.stall.as_millis()).unwrap_or(u64::MAX);
                self.agent.write(Operation::Stall(self.agent.session(), silent_ms)).await;
            }
            NextStep::Stir => {
                self.agent.write(Operation::Stir(self.agent.session())).await;
                if let Some(turn) = &mut self.turn {
                    turn.stirred = Instant::now();
                }
            }
            NextStep::Steer => {
                let (mid_turn, live) = self.mid_turn();
                mid_turn.steer(live).await;
            }
            NextStep::Interrupt => self.interrupt().await,
            NextStep::Continue(task) => self.continue_task(task).await,
            NextStep::Resume(task) => self.resume_task(task).await,
            NextStep::Begin(task) => self.begin_task(task).await,
            NextStep::Wake(newest) => self.begin_wake(newest).await,
            NextStep::Stop(_)
            | NextStep::Abandon
            | NextStep::Renew
            | NextStep::AbandonTask
            | NextStep::Rest(_) => {}
        }
    }

    /// Returns the delivery into turns, and the agent that it acts on.
    fn mid_turn(&mut self) -> (&mut MidTurnDelivery, LiveAgent<'_>) {
        let live = LiveAgent {
            agent: &self.agent,
            process: &self.process,
            turn: self.turn.as_ref(),
            unwritten: &mut self.unwritten,
        };
        (&mut self.mid_turn, live)
    }

    /// Settles the open deliveries of a turn that ended with this status.
    pub(crate) async fn end_deliveries(&mut self, status: TaskStatus) {
        let (mid_turn, live) = self.mid_turn();
        mid_turn.end_turn(live, status).await;
    }

    /// Ends all questions of the agent, here and on the bus.
    pub(crate) async fn drop_questions(&mut self) {
        let ids = self.questions.drop_all();
        if !ids.is_empty() {
            let session = self.agent.session();
            self.record(Operation::EndPermissions { session, ids }).await;
        }
    }

    /// Records an event, and retries until the bus has accepted it.
    pub(crate) async fn record(&mut self, operation: Operation) {
        self.unwritten.record(&self.agent.membership, operation).await;
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
