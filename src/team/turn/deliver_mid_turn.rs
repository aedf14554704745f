//! Delivers messages into a running turn: it steers them, or answers an agent that drains. The agent's output then proves that its
//! model has seen them.
//!
//! `delivery` decides and writes the texts; this carries them. Messages that the agent did not accept are requeued.

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::proof_of_reading::{Proof, Sign};
use super::receive_mail::{self, ReceivedMail, has_unread};
use super::tool_answers::is_written;
use super::transcript;
use super::turn_record::Turn;
use crate::acp::{AcpError, Connection, DrainQuestion, Feature, Steered, ToolCall, Update};
use crate::bus::rules::Operation;
use crate::bus::state::Session;
use crate::config::MidTurn;
use crate::delivery::capabilities::{Reach, Shown};
use crate::delivery::methods::wake_idle::Tried;
use crate::delivery::methods::{drain, steer};
use crate::domain::ids::{CallId, TaskId};
use crate::domain::messaging::DeliveryMethod;
use crate::domain::task::TaskStatus;
use crate::domain::wait_times;
use crate::sys::random_ids;
use crate::team::agent::context::AgentContext;
use crate::team::agent::pending_writes::Unwritten;
use crate::team::agent::start_process::AgentProcess;

/// The state of deliveries into one agent's turns.
#[derive(Default)]
pub(crate) struct MidTurnDelivery {
    /// The text that is being steered into the turn.
    steering: Option<Steering>,
    /// When the next text may be steered.
    not_before: Option<Instant>,
    /// How many attempts have failed since the agent last took a text.
    failures: u32,
    /// Whether steering failed although the agent offers it.
    refuses_steering: bool,
    /// Whether the agent has asked for messages.
    drains: bool,
    /// Its requests for messages that are not answered yet.
    questions: Vec<DrainQuestion>,
    /// Deliveries that the model is not yet known to have seen.
    proof: Proof,
    /// When it was last woken by a message.
    pub(crate) woken: Option<Instant>,
    /// The messages of wakes that failed.
    pub(crate) tried: Tried,
    /// The turn that was interrupted for a message, and whose task continues.
    interrupted: Option<Turn>,
}

/// A text that the agent has not yet accepted or refused.
struct Steering {
    call: CallId,
    /// The steer request. Dropping it abandons the request.
    asking: AbortOnDropHandle<Result<Steered, AcpError>>,
}

/// The agent that a delivery acts on.
pub(crate) struct LiveAgent<'a> {
    pub(crate) agent: &'a AgentContext,
    pub(crate) process: &'a AgentProcess,
    pub(crate) turn: Option<&'a Turn>,
    pub(crate) unwritten: &'a mut Unwritten,
}

impl LiveAgent<'_> {
    async fn record(&mut self, operation: Operation) {
        self.unwritten.record(&self.agent.membership, operation).await;
    }

    async fn receive(&mut self, call: CallId, method: DeliveryMethod) -> ReceivedMail {
        receive_mail::receive(self.agent, self.unwritten, call, method).await
    }

    async fn settle(&mut self, call: CallId, seen: bool) {
        receive_mail::settle(self.agent, self.unwritten, call, seen).await;
    }

    fn transcribe_words(&self, method: DeliveryMethod, text: &str) {
        if let Some(turn) = self.turn {
            let line = transcript::of_words(self.agent.wall_ms(), method, text);
            self.agent.transcribe(&turn.transcript, line);
        }
    }
}

impl MidTurnDelivery {
    /// Returns whether the agent has yet to report the outcome of the last text.
    pub(crate) fn is_steering(&self) -> bool {
        self.steering.is_some()
    }

    /// Returns whether the delivery of a call is still open here, so that the end of a turn does not prove it.
    pub(crate) fn holds(&self, call: CallId) -> bool {
        self.proof.is_open(call)
    }

    /// Delays the next attempt after a failed one.
    fn wait(&mut self) {
        self.failures = self.failures.saturating_add(1);
        self.not_before = Some(Instant::now() + steer::pause(self.failures));
    }

    /// Delays the next wake: none of the messages could be read.
    pub(crate) fn wake_later(&mut self) {
        self.wait();
        self.woken = self.not_before;
    }

    pub(crate) fn not_before(&self) -> Option<Instant> {
        self.not_before
    }

    /// Returns the task that continues after its turn was interrupted for a message.
    pub(crate) fn task_to_continue(&self) -> Option<TaskId> {
        self.interrupted.as_ref()?.task.clone()
    }

    /// Waits until the agent reports the outcome of the steered text; for ever if there is none.
    pub(crate) async fn steering_done(&mut self) -> Result<Steered, AcpError> {
        match &mut self.steering {
            Some(steering) => match (&mut steering.asking).await {
                Ok(outcome) => outcome,
                Err(error) => Err(AcpError::Malformed {
                    method: "_session/steering".into(),
                    problem: error.to_string(),
                }),
            },
            None => std::future::pending().await,
        }
    }

    /// Handles an update of a turn. It compares the turn's calls before and after the update.
    pub(crate) fn hear(&mut self, update: &Update, turn: &mut Turn) -> Sign {
        let mut sign = Sign::default();
        match update {
            Update::MessageText(_) | Update::ThoughtText(_) | Update::Plan(_) => sign.own = true,
            // An update of a known call is not output of the model.
            Update::ToolCall(call) => sign.own = turn.calls.get(&call.id).is_none(),
            _ => {}
        }
        let is_over = |turn: &Turn| match update {
            Update::ToolCall(call) => turn.calls.get(&call.id).is_some_and(ToolCall::is_over),
            _ => false,
        };
        let has_ended_well = |turn: &Turn| match update {
            Update::ToolCall(call) => {
                let call = turn.calls.get(&call.id);
                call.is_some_and(|call| call.status() == "completed")
            }
            _ => false,
        };
        // Some agents report the end of a call twice.
        let was_over = is_over(turn);
        turn.hear(update);
        sign.ended_well = !was_over && has_ended_well(turn);
        sign.calls_over = is_over(turn) && !was_over && turn.calls.running().next().is_none();
        self.proof.hear(sign, Instant::now());
        sign
    }

    /// Notes the calls of our tools that hold messages, now that the last running call has ended.
    pub(crate) fn calls_over(&mut self, calls: Vec<CallId>) {
        self.proof.answered(calls);
    }

    /// Queues a request for messages.
    pub(crate) fn ask(&mut self, question: DrainQuestion) {
        self.questions.push(question);
    }

    /// Keeps a turn that was interrupted for a message, as its task continues. A turn for messages simply begins again.
    pub(crate) fn keep_interrupted(&mut self, turn: Turn) {
        self.woken = None;
        if turn.task.is_some() {
            self.interrupted = Some(turn);
        }
    }

    pub(crate) fn take_interrupted(&mut self) -> Option<Turn> {
        self.interrupted.take()
    }

    /// Returns the delivery methods that work during a turn of the agent.
    pub(crate) fn reach(&self, agent: &AgentContext, connection: &Connection) -> Reach {
        let info = connection.agent();
        let offers = info.is_some_and(|info| info.offers(Feature::Steering));
        let shown = Shown { steers: offers && !self.refuses_steering, drains: self.drains };
        Reach::of(agent.profile.mid_turn.value, shown)
    }

    /// Records on the bus the delivery methods that reach the agent.
    pub(crate) async fn announce_methods(&self, live: &mut LiveAgent<'_>) {
        let reach = self.reach(live.agent, &live.process.connection);
        let (session, methods) = (live.agent.session(), reach.methods());
        live.record(Operation::DeliveryMethods { session, methods }).await;
    }

    /// Answers an agent that drains, and settles the messages that its model has seen.
    pub(crate) async fn tend(&mut self, mut live: LiveAgent<'_>) {
        for call in self.proof.proven() {
            // Else the end of the turn settles it, once the bus has recorded the answer.
            if is_written(live.agent, call) {
                live.settle(call, true).await;
            }
        }
        for question in std::mem::take(&mut self.questions) {
            if !std::mem::replace(&mut self.drains, true) {
                self.announce_methods(&mut live).await;
            }
            self.answer(&mut live, question).await;
        }
    }

    /// Delivers unread messages to an agent that drains. A request that is dropped gets an empty answer.
    async fn answer(&mut self, live: &mut LiveAgent<'_>, question: DrainQuestion) {
        let continues = |turn: &Turn| turn.cancelled.is_none() && turn.interrupted.is_none();
        let in_turn = live.turn.is_some_and(continues);
        if !in_turn || *question.session() != live.process.session.id || !has_unread(live.agent) {
            return;
        }
        let call = random_ids::call();
        let ReceivedMail { messages, more, .. } = live.receive(call, DeliveryMethod::Drain).await;
        if messages.is_empty() {
            live.settle(call, false).await;
            return;
        }
        let texts = drain::drained_texts(&messages, live.agent.reader(), more);
        live.transcribe_words(DeliveryMethod::Drain, &texts.concat());
        if question.answer(&texts) {
            self.proof.answer(call);
        } else {
            live.settle(call, false).await;
        }
    }

    /// Steers unread messages into the running turn.
    pub(crate) async fn steer(&mut self, mut live: LiveAgent<'_>) {
        let call = random_ids::call();
        let ReceivedMail { messages, more, .. } = live.receive(call, DeliveryMethod::Steer).await;
        if messages.is_empty() {
            live.settle(call, false).await;
            self.wait();
            return;
        }
        let text = steer::steer_text(&messages, live.agent.reader(), more);
        live.transcribe_words(DeliveryMethod::Steer, &text);
        self.proof.offer(call);
        let (connection, session) =
            (live.process.connection.clone(), live.process.session.id.clone());
        let asking = tokio::spawn(async move {
            connection.steer(&session, &text, wait_times::STEER_ANSWER).await
        });
        self.steering = Some(Steering { call, asking: AbortOnDropHandle::new(asking) });
    }

    /// Handles the outcome of a steered text.
    pub(crate) async fn steered(
        &mut self,
        mut live: LiveAgent<'_>,
        outcome: Result<Steered, AcpError>,
    ) {
        let Some(Steering { call, .. }) = self.steering.take() else {
            return;
        };
        self.wait();
        match outcome {
            Ok(Steered::Taken) => {
                self.failures = 0;
                self.not_before = Some(Instant::now() + wait_times::GATHER_MESSAGES);
                if let Some(turn) = live.turn {
                    let agent = live.agent;
                    agent.transcribe(&turn.transcript, transcript::of_taken(agent.wall_ms()));
                    let lags = live.agent.profile.mid_turn.value == MidTurn::SteerBetweenCalls;
                    let lag = if lags { wait_times::STEER_LAG } else { Duration::ZERO };
                    self.proof.take(call, Instant::now() + lag);
                    return;
                }
                // The turn has ended meanwhile, and nothing proves that the model was shown the text.
            }
            Ok(Steered::NoTurn) => {}
            // The end of the process requeues everything.
            Err(AcpError::Closed { .. }) => return,
            Err(error) => {
                let name = live.agent.name();
                tracing::warn!(
                    "{name} cannot be steered, so other delivery methods are used: {error}"
                );
                self.refuses_steering = true;
                self.announce_methods(&mut live).await;
            }
        }
        self.proof.withdraw(call);
        live.settle(call, false).await;
    }

    /// Settles the open deliveries of a turn that has ended, and ends the calls of our tools that outlive it.
    pub(crate) async fn end_turn(&mut self, mut live: LiveAgent<'_>, status: TaskStatus) {
        self.questions.clear();
        for (call, seen) in self.proof.end(status == TaskStatus::Done) {
            let seen = seen && is_written(live.agent, call);
            live.settle(call, seen).await;
        }
        self.not_before = None;
        self.failures = 0;
        let session = live.agent.session();
        if let Err(error) = live.agent.bus().refresh() {
            // Then the messages of its calls are requeued at their deadline, or at the end of the next turn.
            tracing::debug!("failed to refresh the bus for {}: {error}", live.agent.name());
        }
        let has_calls = live.agent.bus().look(|state| {
            let agent = state.session(session);
            let holds = |agent: &Session| !agent.in_flight.is_empty() || !agent.unheard.is_empty();
            agent.is_some_and(|agent| !agent.waits.is_empty() || holds(agent))
        });
        if has_calls {
            live.record(Operation::EndCalls(session)).await;
        }
    }
}
