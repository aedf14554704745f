//! The ladder in an agent's turn: what is put into it, what is answered when the agent asks, when it is ended for a message, and how
//! it is known that the model has taken what it was given.
//!
//! `delivery` decides and writes the texts; this carries them. What was not taken is given back, and is unread again.

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::begin_and_end::ReceivedMail;
use super::proof_of_reading::{Proof, Sign};
use super::transcript;
use super::turn_record::{Outcome, Turn};
use crate::acp::{AcpError, DrainQuestion, Feature, Steered, ToolCall, Update};
use crate::bus::rules::Operation;
use crate::bus::state::Session;
use crate::config::MidTurn;
use crate::delivery::capabilities::{Reach, Shown};
use crate::delivery::methods::wake_idle::Tried;
use crate::delivery::methods::{drain, interrupt, steer};
use crate::domain::ids::{CallId, TaskId};
use crate::domain::messaging::DeliveryMethod;
use crate::domain::task::TaskStatus;
use crate::domain::timeouts;
use crate::sys::random_ids;
use crate::team::agent::actor::Actor;

/// What an actor knows of the words that go into its agent's turns.
#[derive(Default)]
pub(crate) struct MidTurnDelivery {
    /// What is being put into the turn.
    steering: Option<Steering>,
    /// Before when nothing more is put there.
    not_before: Option<Instant>,
    /// How often it has said that it has no turn, since it last took something.
    in_vain: u32,
    /// Whether the agent does not steer as it says it does.
    steers_not: bool,
    /// Whether it has asked for messages.
    drains: bool,
    /// Its questions for messages that are not answered yet.
    questions: Vec<DrainQuestion>,
    /// What it has been given, until it is known whether its model was shown it.
    proof: Proof,
    /// When it was last woken by a message.
    pub(crate) woken: Option<Instant>,
    /// The mail of wakes that failed.
    pub(crate) tried: Tried,
    /// The turn that was ended for a message, whose task goes on.
    cut: Option<Turn>,
}

/// A text on its way into a turn.
struct Steering {
    call: CallId,
    /// Dropped, it is not asked for any more.
    asking: AbortOnDropHandle<Result<Steered, AcpError>>,
}

impl MidTurnDelivery {
    /// Says whether the agent has yet to tell what became of the last text.
    pub(crate) fn is_steering(&self) -> bool {
        self.steering.is_some()
    }

    /// Says whether a call's taking is still open here, so that no end of a turn proves it.
    pub(crate) fn holds(&self, call: CallId) -> bool {
        self.proof.is_open(call)
    }

    /// Waits after an attempt in vain.
    fn wait(&mut self) {
        self.in_vain = self.in_vain.saturating_add(1);
        self.not_before = Some(Instant::now() + steer::pause(self.in_vain));
    }

    /// Waits before mail wakes the agent again: none of it could be read.
    pub(crate) fn wake_later(&mut self) {
        self.wait();
        self.woken = self.not_before;
    }

    pub(crate) fn not_before(&self) -> Option<Instant> {
        self.not_before
    }

    /// Returns the task that goes on after its turn was ended for a message.
    pub(crate) fn task_to_go_on(&self) -> Option<TaskId> {
        self.cut.as_ref()?.task.clone()
    }

    /// Waits until the agent has told what became of a text, if one is on its way.
    pub(crate) async fn told(&mut self) -> Result<Steered, AcpError> {
        match &mut self.steering {
            Some(steering) => match (&mut steering.asking).await {
                Ok(told) => told,
                Err(error) => Err(AcpError::Malformed {
                    method: "_session/steering".into(),
                    problem: error.to_string(),
                }),
            },
            None => std::future::pending().await,
        }
    }

    /// Takes in what the agent says in a turn, before and after the turn has taken it in.
    pub(crate) fn hear(&mut self, update: &Update, turn: &mut Turn) -> Sign {
        let mut sign = Sign::default();
        match update {
            Update::MessageText(_) | Update::ThoughtText(_) | Update::Plan(_) => sign.own = true,
            // What is said of a call that is known is not its model's.
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
        // Some tell the end of a call twice.
        let was_over = is_over(turn);
        turn.hear(update);
        sign.ended_well = !was_over && has_ended_well(turn);
        sign.calls_over = is_over(turn) && !was_over && turn.calls.running().next().is_none();
        self.proof.hear(sign, Instant::now());
        sign
    }

    /// Takes in what calls of our tools hold, as the last running one has ended.
    pub(crate) fn calls_over(&mut self, calls: Vec<CallId>) {
        self.proof.told(calls);
    }

    /// Takes in a question for messages.
    pub(crate) fn ask(&mut self, question: DrainQuestion) {
        self.questions.push(question);
    }
}

impl Actor {
    /// Returns what can carry words into a turn of the agent.
    pub(crate) fn reach(&self) -> Reach {
        let agent = self.connection.agent();
        let offers = agent.is_some_and(|agent| agent.offers(Feature::Steering));
        let shown = Shown { steers: offers && !self.ladder.steers_not, drains: self.ladder.drains };
        Reach::of(self.profile.mid_turn.value, shown)
    }

    /// Puts on the bus by which ways the agent is reached.
    pub(crate) async fn announce_ways(&mut self) {
        let (session, ways) = (self.identity.session, self.reach().methods());
        self.record(Operation::Ways { session, ways }).await;
    }

    /// Answers what the agent asks, and writes down what its model has taken.
    pub(crate) async fn tend_ladder(&mut self) {
        for call in self.ladder.proof.proven() {
            // Else the end of the turn says so, when the word of it has come.
            if self.is_written(call) {
                self.settle_call(call, true).await;
            }
        }
        for question in std::mem::take(&mut self.ladder.questions) {
            if !std::mem::replace(&mut self.ladder.drains, true) {
                self.announce_ways().await;
            }
            self.answer(question).await;
        }
    }

    /// Gives an agent that asks what is unread. A question that is dropped is answered with nothing.
    async fn answer(&mut self, question: DrainQuestion) {
        let goes_on = |turn: &Turn| turn.cancelled.is_none() && turn.interrupted.is_none();
        let in_turn = self.turn.as_ref().is_some_and(goes_on);
        if !in_turn || *question.session() != self.acp.id || !self.has_unread() {
            return;
        }
        let call = random_ids::call();
        let ReceivedMail { letters, more, .. } = self.take_mail(call, DeliveryMethod::Drain).await;
        if letters.is_empty() {
            self.settle_call(call, false).await;
            return;
        }
        let texts = drain::drained_texts(&letters, self.reader(), more);
        self.transcribe_words(DeliveryMethod::Drain, &texts.concat());
        if question.answer(&texts) {
            self.ladder.proof.answer(call);
        } else {
            self.settle_call(call, false).await;
        }
    }

    /// Says whether there is anything to hand over, so that nothing is written about nothing.
    fn has_unread(&self) -> bool {
        let bus = self.membership.bus();
        if let Err(error) = bus.refresh() {
            tracing::warn!("failed to refresh the bus for {}: {error}", self.identity.name);
            return false;
        }
        bus.look(|state| state.unread(&self.identity.name).next().is_some())
    }

    /// Puts unread messages into the turn that runs.
    pub(crate) async fn steer(&mut self) {
        let call = random_ids::call();
        let ReceivedMail { letters, more, .. } = self.take_mail(call, DeliveryMethod::Steer).await;
        if letters.is_empty() {
            self.settle_call(call, false).await;
            self.ladder.wait();
            return;
        }
        let text = steer::steer_text(&letters, self.reader(), more);
        self.transcribe_words(DeliveryMethod::Steer, &text);
        self.ladder.proof.offer(call);
        let (connection, session) = (self.connection.clone(), self.acp.id.clone());
        let asking =
            tokio::spawn(
                async move { connection.steer(&session, &text, timeouts::STEER_ANSWER).await },
            );
        self.ladder.steering = Some(Steering { call, asking: AbortOnDropHandle::new(asking) });
    }

    /// Takes in what became of a text that was put into a turn.
    pub(crate) async fn steered(&mut self, told: Result<Steered, AcpError>) {
        let Some(Steering { call, .. }) = self.ladder.steering.take() else {
            return;
        };
        self.ladder.wait();
        match told {
            Ok(Steered::Taken) => {
                self.ladder.in_vain = 0;
                self.ladder.not_before = Some(Instant::now() + timeouts::GATHER_MESSAGES);
                if let Some(turn) = &self.turn {
                    self.transcribe(&turn.transcript, transcript::of_taken(self.wall_ms()));
                    let lags = self.profile.mid_turn.value == MidTurn::SteerBetweenCalls;
                    let lag = if lags { timeouts::STEER_LAG } else { Duration::ZERO };
                    self.ladder.proof.take(call, Instant::now() + lag);
                    return;
                }
                // The turn has ended meanwhile, and nothing proves that its model was shown it.
            }
            Ok(Steered::NoTurn) => {}
            // The end of the process gives everything back.
            Err(AcpError::Closed { .. }) => return,
            Err(error) => {
                let name = &self.identity.name;
                tracing::warn!(
                    "{name} cannot be steered, so other delivery methods are used: {error}"
                );
                self.ladder.steers_not = true;
                self.announce_ways().await;
            }
        }
        self.ladder.proof.withdraw(call);
        self.settle_call(call, false).await;
    }

    /// Ends the turn for a message; the turn's end then says how it goes on.
    pub(crate) async fn interrupt(&mut self) {
        self.recall();
        if let Err(error) = self.connection.cancel(&self.acp.id).await {
            // Then the connection is over, and the prompt's own end says so.
            tracing::debug!("failed to interrupt a turn: {error}");
        }
        // After the cancel, so that the agent does not take them for answers.
        self.drop_questions().await;
        if let Some(turn) = &mut self.turn {
            turn.interrupted = Some(Instant::now());
        }
    }

    /// Settles what the ladder still has of a turn that has ended, and ends the calls of our tools that run on without it.
    pub(crate) async fn end_of_ladder(&mut self, status: TaskStatus) {
        self.ladder.questions.clear();
        for (call, seen) in self.ladder.proof.end(status == TaskStatus::Done) {
            let seen = seen && self.is_written(call);
            self.settle_call(call, seen).await;
        }
        self.ladder.not_before = None;
        self.ladder.in_vain = 0;
        let session = self.identity.session;
        if let Err(error) = self.membership.bus().refresh() {
            // Then what its calls hold comes back by its deadline, or with the end of the next turn.
            tracing::debug!("failed to refresh the bus for {}: {error}", self.identity.name);
        }
        let has_calls = self.membership.bus().look(|state| {
            let live = state.session(session);
            let holds = |live: &Session| !live.handed.is_empty() || !live.unheard.is_empty();
            live.is_some_and(|live| !live.waits.is_empty() || holds(live))
        });
        if has_calls {
            self.record(Operation::EndCalls(session)).await;
        }
    }

    /// Keeps a turn that was ended for a message: its task goes on, and a turn with mail begins again.
    pub(crate) fn cut_short(&mut self, turn: Turn) {
        self.ladder.woken = None;
        if turn.task.is_some() {
            self.ladder.cut = Some(turn);
        }
    }

    /// Goes on with the task whose turn was ended for a message: with that and with what it was asked.
    pub(crate) async fn go_on(&mut self, id: TaskId) {
        let Some(cut) = self.ladder.cut.take() else {
            return;
        };
        let task = self.membership.bus().look(|state| state.task(&id).cloned());
        let Some(task) = task else { return };
        let entered = self.enter_mode(self.policy_of(&task)).await;
        let outcome = match (entered, self.prompt_of(&task).await) {
            _ if task.cancel_asked => Outcome::plain(TaskStatus::Cancelled),
            (Err(error), _) => Outcome::failed(error),
            (Ok(()), Ok(text)) => {
                let call = random_ids::call();
                let ReceivedMail { letters, more, .. } =
                    self.take_mail(call, DeliveryMethod::Inject).await;
                let prompt = interrupt::again_prompt(&letters, self.reader(), more, &text);
                self.begin_turn(Some(id), prompt, call, &letters);
                if let Some(turn) = &mut self.turn {
                    turn.goes_on_from(cut);
                }
                return;
            }
            (Ok(()), Err(error)) => Outcome::error(TaskStatus::Failed, "bus", &error.told()),
        };
        self.finish(id, outcome, cut.output).await;
    }

    pub(crate) async fn settle_call(&mut self, call: CallId, seen: bool) {
        let session = self.identity.session;
        self.record(Operation::Settle { session, call, seen }).await;
    }

    fn transcribe_words(&self, way: DeliveryMethod, text: &str) {
        if let Some(turn) = &self.turn {
            let line = transcript::of_words(self.wall_ms(), way, text);
            self.transcribe(&turn.transcript, line);
        }
    }
}
