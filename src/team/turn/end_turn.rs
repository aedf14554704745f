//! Ends a turn of an agent: cancelled, interrupted for a message, abandoned, or by itself; and records what follows for its task.
//!
//! Methods of the actor: `cancel_turn`, `interrupt`, `abandon_task`, `end_turn` and `finish`.

use tokio::time::Instant;

use super::outcome::Outcome;
use super::receive_mail;
use super::tool_answers::shown_by_tools;
use super::transcript;
use super::turn_record::Turn;
use crate::acp::{AcpError, PromptOutcome, TokenUsage, ToolCalls};
use crate::bus::event::{Body, TaskReport};
use crate::bus::rules::{Ending, Operation};
use crate::domain::ids::{CallId, TaskId};
use crate::domain::limits;
use crate::domain::member::Activity;
use crate::domain::task::TaskStatus;
use crate::domain::task::error_class;
use crate::team::agent::actor::Actor;
use crate::team::agent::pending_writes::End;
use crate::team::results::collect::Collected;
use crate::team::results::error_advice::Advice;
use crate::team::results::report::{self, TurnOutput};

impl Actor {
    pub(crate) async fn cancel_turn(&mut self) {
        self.recall();
        let cancelled = self.process.connection.cancel(&self.process.session.id).await;
        if let Err(error) = cancelled {
            // Then the connection is over, and the prompt's own end says so.
            tracing::debug!("failed to cancel a turn: {error}");
        }
        // After the cancel, so that the agent does not take them for answers.
        self.drop_questions().await;
        if let Some(turn) = &mut self.turn {
            turn.cancelled = Some(Instant::now());
        }
    }

    /// Interrupts the turn for a message; the end of the turn decides how it continues.
    pub(crate) async fn interrupt(&mut self) {
        self.recall();
        if let Err(error) = self.process.connection.cancel(&self.process.session.id).await {
            // Then the connection is over, and the prompt's own end says so.
            tracing::debug!("failed to interrupt a turn: {error}");
        }
        // After the cancel, so that the agent does not take them for answers.
        self.drop_questions().await;
        if let Some(turn) = &mut self.turn {
            turn.interrupted = Some(Instant::now());
        }
    }

    /// Holds back the prompt of the turn if it has not been sent: sent after the cancel, it would not count as cancelled.
    pub(crate) fn recall(&self) {
        if let Some(turn) = &self.turn {
            turn.recall.cancel();
        }
    }

    /// Ends a task whose agent does not end its turn. The turn still counts as running: no other may begin.
    pub(crate) async fn abandon_task(&mut self) {
        // First, so that no process considers the agent free when its task ends.
        self.record(Operation::Stuck(self.agent.session())).await;
        let Some(turn) = &mut self.turn else { return };
        turn.abandoned = true;
        let (task, output) = (turn.task.clone(), std::mem::take(&mut turn.output.text));
        let rest = turn.collected.begin_again();
        let (collected, calls) = (std::mem::replace(&mut turn.collected, rest), turn.calls.clone());
        if let Some(task) = task {
            let message = "the agent ignored the cancel request; kill_agent stops it";
            let outcome = Outcome::error(TaskStatus::Cancelled, error_class::SILENT, message);
            let report = self.report(collected, None, &output, &calls).await;
            self.finish_with(task, outcome, output, report).await;
        }
    }

    /// Handles the end of a turn. Returns whether the agent's connection is over.
    pub(crate) async fn end_turn(&mut self, ended: Result<PromptOutcome, AcpError>) -> bool {
        // The agent's updates before its answer are already queued.
        while let Some(event) = self.process.events.try_recv() {
            self.hear(event);
        }
        self.drop_questions().await;
        self.questions.record_repeated(&self.agent).await;
        let Some(mut turn) = self.turn.take() else {
            return false;
        };
        if let (Some(before), Ok(PromptOutcome { was_sent: false, .. })) = (turn.before, &ended) {
            // The session knows nothing of this turn, so the next one begins where this one did.
            self.conversation = before;
        }
        self.agent.doing.forget(self.agent.session());
        let advice = Advice { resets_at: turn.collected.resets_at, ..self.agent.advice() };
        let asked = turn.cancelled.is_some() || turn.interrupted.is_some();
        let outcome = Outcome::of(&ended, asked, advice);
        let outcome = if turn.failing.is_some() {
            outcome.of_failing(&turn.output.text, advice, &self.agent.secrets)
        } else {
            outcome
        };
        // Calls of our tools end with the turn as it ended, whatever that means for the task.
        let ended_as = outcome.status;
        let outcome = if asked || turn.abandoned {
            outcome
        } else {
            outcome.of_refused(&turn.collected.refused_titles())
        };
        let line = transcript::of_end(self.agent.wall_ms(), &outcome);
        self.agent.transcribe(&turn.transcript, line);
        let interrupted = turn.was_interrupted(&outcome);
        // The messages of an interrupted prompt are prompted again.
        let seen = turn.alive && outcome.proves_taking() && !interrupted;
        self.settle(&turn, seen, ended_as).await;
        self.end_deliveries(ended_as).await;
        if outcome.gone {
            self.count_beside_tasks(turn.collected, None).await;
            // The handler of the process's death ends the task, and knows more about it.
            return true;
        }
        let continues = interrupted && turn.task.is_some();
        if interrupted {
            if turn.task.is_some() {
                turn.collected.note_interrupted(outcome.usage);
            } else {
                let collected = std::mem::take(&mut turn.collected);
                self.count_beside_tasks(collected, outcome.usage).await;
            }
            self.mid_turn.keep_interrupted(turn);
        } else {
            self.conclude(turn, outcome).await;
        }
        if !continues {
            self.rest().await;
        }
        false
    }

    /// Records the consequences of a turn's end for its task, or for the messages that woke the agent.
    async fn conclude(&mut self, turn: Turn, outcome: Outcome) {
        match turn.task {
            Some(task) if !turn.abandoned => {
                let Turn { collected, output, calls, .. } = turn;
                let report = self.report(collected, outcome.usage, &output.text, &calls).await;
                self.finish_with(task, outcome, output.text, report).await;
            }
            Some(_) => {
                self.count_beside_tasks(turn.collected, outcome.usage).await;
                self.record(Operation::Free(self.agent.session())).await;
            }
            None => {
                self.count_beside_tasks(turn.collected, outcome.usage).await;
                if outcome.error.is_some() || !turn.alive {
                    self.mid_turn.tried.add(turn.wake);
                }
            }
        }
    }

    /// Records what a turn has used that the report of no task counts.
    async fn count_beside_tasks(&mut self, collected: Collected, of_turn: Option<TokenUsage>) {
        if let Some(used) = self.used_beside_tasks(collected, of_turn) {
            self.record(used).await;
        }
    }

    /// Counts what turns have used that end with the process, as far as the agent has reported it. It is written with the process's end.
    pub(crate) fn count_unfinished_turns(&mut self) {
        for turn in self.mid_turn.take_interrupted().into_iter().chain(self.turn.take()) {
            if let Some(used) = self.used_beside_tasks(turn.collected, None) {
                self.unwritten.push(used);
            }
        }
    }

    fn used_beside_tasks(
        &mut self,
        mut collected: Collected,
        of_turn: Option<TokenUsage>,
    ) -> Option<Operation> {
        let cost = self.session_cost.grow(collected.spent());
        let usage = collected.usage_beside_tasks(of_turn, cost)?;
        Some(Operation::TurnUsed { session: self.agent.session(), usage })
    }

    /// Records on the bus that the agent is idle, unless the bus knows that.
    pub(super) async fn rest(&mut self) {
        let session = self.agent.session();
        let running = self.agent.bus().look(|state| {
            state.session(session).is_some_and(|live| live.activity == Activity::Running)
        });
        // A task whose end is still pending counts as running.
        if running || !self.unwritten.is_empty() {
            self.record(Operation::Activity { session, activity: Activity::Idle }).await;
        }
    }

    /// Settles the messages of the prompt, and those that the model received by tools in its turn.
    async fn settle(&mut self, turn: &Turn, seen: bool, status: TaskStatus) {
        if let Some(call) = turn.prompt_call {
            self.settle_call(call, seen).await;
        }
        // In a cancelled turn, the answer of a tool may no longer have reached the model.
        if seen && status != TaskStatus::Cancelled {
            let mut shown = shown_by_tools(&self.agent, turn).await;
            shown.retain(|call| !self.mid_turn.holds(*call));
            for call in shown {
                self.settle_call(call, seen).await;
            }
        }
    }

    pub(crate) async fn finish(&mut self, id: TaskId, outcome: Outcome, output: String) {
        let report =
            TaskReport { context: Some(self.conversation.context), ..TaskReport::default() };
        self.finish_with(id, outcome, output, (report, None)).await;
    }

    /// Ends a task between two turns of it, with what the first of them has left.
    pub(super) async fn finish_interrupted(&mut self, id: TaskId, outcome: Outcome, turn: Turn) {
        let Turn { collected, output, calls, .. } = turn;
        let report = self.report(collected, None, &output.text, &calls).await;
        self.finish_with(id, outcome, output.text, report).await;
    }

    async fn finish_with(
        &mut self,
        id: TaskId,
        outcome: Outcome,
        output: String,
        (report, details): (TaskReport, Option<String>),
    ) {
        let Outcome { status, stop_reason, error, .. } = outcome;
        let is_cancelled = status == TaskStatus::Cancelled;
        let error = error.or_else(|| self.agent.error_of_stop().filter(|_| is_cancelled));
        let error = error.map(|error| error.written(&self.agent.secrets));
        let word = |text: String| self.agent.secrets.hidden(text).clipped(limits::WORD_BYTES);
        let stop_reason = stop_reason.map(word);
        let ending =
            Ending { status, output: Body::Text(String::new()), stop_reason, error, report };
        let end = End::new(id, ending, self.agent.secrets.hidden(output).into());
        self.unwritten.record_end(&self.agent.membership, End { details, ..end }).await;
    }

    async fn report(
        &mut self,
        collected: Collected,
        usage: Option<TokenUsage>,
        output: &str,
        calls: &ToolCalls,
    ) -> (TaskReport, Option<String>) {
        let (turn, examiner) = (TurnOutput { output, calls, usage }, self.questions.looks());
        report::put_together(&self.agent, collected, turn, &mut self.session_cost, examiner).await
    }

    async fn settle_call(&mut self, call: CallId, seen: bool) {
        receive_mail::settle(&self.agent, &mut self.unwritten, call, seen).await;
    }
}
