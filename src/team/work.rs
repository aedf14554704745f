//! The turns of an agent: how one begins with a task or with mail, and what its end means for the bus.

use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::actor::Actor;
use super::advice::Advice;
use super::choose::{What, choose};
use super::patience::patient;
use super::report::Spending;
use super::start;
use super::transcript;
use super::turn::{Outcome, Turn};
use crate::acp::{AcpError, PromptOutcome};
use crate::bus::event::{Body, Report};
use crate::bus::rules::{Ask, Ending};
use crate::bus::{BusError, Letter};
use crate::delivery::{inject, primer, wake};
use crate::domain::failure;
use crate::domain::id::{CallId, TaskId};
use crate::domain::member::{Activity, Tools};
use crate::domain::message::Way;
use crate::domain::name::Name;
use crate::domain::report::Context;
use crate::domain::task::{TaskError, TaskStatus};
use crate::sys::ids;

/// What an agent is told that goes on with a task.
const RESUMED: &str = "Your process ended in the middle of this task and was started again. Look at how far you had come, and go \
                       on from there.";

impl Actor {
    pub(super) async fn begin_task(&mut self, id: TaskId) {
        match self.seat.ask(Ask::StartTask(id.clone())).await {
            Ok(_) => {}
            // It was cancelled meanwhile.
            Err(BusError::Refused(_)) => return,
            Err(error) => {
                tracing::warn!("failed to begin {id}: {error}");
                return;
            }
        }
        let task = self.seat.bus().look(|state| state.task(&id).cloned());
        let Some(task) = task else { return };
        if let Err(outcome) = self.prepare(task.fresh, task.model.as_deref()).await {
            self.finish(id, outcome, String::new()).await;
            return;
        }
        let text = match self.seat.bus().text(task.prompt) {
            Ok(text) => text,
            Err(error) => {
                let outcome = Outcome::error(TaskStatus::Failed, "bus", &error.told());
                self.finish(id, outcome, String::new()).await;
                return;
            }
        };
        let call = ids::call();
        let (letters, more) = self.take_mail(call, Way::Inject).await;
        let primer = self.primer();
        let prompt = inject::task_prompt(
            primer.as_deref(),
            &letters,
            &self.identity.name,
            more,
            &text,
        );
        self.begin_turn(Some(id), prompt, call, &letters);
    }

    /// Goes on with the task in whose turn an earlier process ended, if its session could be taken up; else ends it.
    pub(super) async fn resume_task(&mut self, id: TaskId) {
        self.interrupted = None;
        let task = self.seat.bus().look(|state| state.task(&id).cloned());
        let Some(task) = task else { return };
        if task.cancel_asked {
            self.finish(id, Outcome::plain(TaskStatus::Cancelled), String::new())
                .await;
            return;
        }
        let text = self.seat.bus().text(task.prompt);
        let (true, Ok(text)) = (self.resumed, text) else {
            let message = "the agent has crashed and was started again, without its session";
            let outcome = Outcome::error(TaskStatus::Interrupted, "crashed", message);
            self.finish(id, outcome, String::new()).await;
            return;
        };
        if self.write(Ask::ResumeTask(id.clone())).await.is_none() {
            self.interrupted = Some(id);
            return;
        }
        let call = ids::call();
        let (letters, more) = self.take_mail(call, Way::Inject).await;
        let name = &self.identity.name;
        let prompt = inject::task_prompt(Some(RESUMED), &letters, name, more, &text);
        self.begin_turn(Some(id), prompt, call, &letters);
    }

    /// Makes the session what the task wants: a new one, another model.
    async fn prepare(&mut self, fresh: bool, model: Option<&str>) -> Result<(), Outcome> {
        if fresh && self.used {
            let servers = std::slice::from_ref(&self.endpoint);
            let beginning = self.connection.new_session(&self.identity.cwd, servers);
            let limit = self.profile.start.value;
            let session = patient(&self.child, limit, "session/new", beginning).await;
            let advice = Advice::of(&self.profile, self.wall_ms());
            let session = session.map_err(|error| Outcome::failed(advice.on(&error)))?;
            let set = start::set_mode(&self.connection, &session, &self.profile, advice).await;
            // In the wrong mode the new session is not used at all.
            set.map_err(Outcome::failed)?;
            self.acp = session;
            self.offers.note(self.identity.session, &self.acp);
            self.primed = false;
            self.used = false;
            self.context = Context::New;
            self.spending = Spending::Nothing;
            self.record_session().await;
            // The new session has to find the tools anew, and who needs this shows them late.
            tokio::time::sleep(self.profile.settle.value).await;
        }
        let default = self
            .profile
            .default_model
            .as_ref()
            .filter(|_| !self.used)
            .map(|model| model.value.clone());
        if let Some(model) = model.map(str::to_owned).or(default) {
            let advice = Advice::of(&self.profile, self.wall_ms());
            let chosen = choose(What::Model, &model, &self.connection, &self.acp, advice).await;
            chosen.map_err(Outcome::failed)?;
            self.acp.note_model(&model);
            let session = self.identity.session;
            self.write(Ask::Model { session, model }).await;
        }
        Ok(())
    }

    pub(super) async fn begin_wake(&mut self, newest: u64) {
        let session = self.identity.session;
        let call = ids::call();
        self.ladder.woken = Some(Instant::now());
        let (letters, more) = self.take_mail(call, Way::Prompt).await;
        if letters.is_empty() {
            // Nothing was handed over, or nothing of it can be read.
            self.write(Ask::Settle {
                session,
                call,
                seen: false,
            })
            .await;
            self.write(Ask::Activity {
                session,
                activity: Activity::Idle,
            })
            .await;
            self.mail_failed = self.mail_failed.max(newest);
            return;
        }
        let primer = self.primer();
        let prompt = wake::wake_prompt(primer.as_deref(), &letters, &self.identity.name, more);
        self.begin_turn(None, prompt, call, &letters);
        if let Some(turn) = &mut self.turn {
            turn.newest_mail = turn.newest_mail.max(newest);
        }
    }

    pub(super) fn begin_turn(
        &mut self,
        task: Option<TaskId>,
        prompt: String,
        call: CallId,
        letters: &[Letter],
    ) {
        // A wake is no task, but its transcript needs a name of the same kind.
        let transcript = task
            .clone()
            .unwrap_or_else(|| TaskId::from_bits(ids::session().0.as_u64_pair().1));
        let line = transcript::of_prompt(self.wall_ms(), self.identity.name.as_str(), &prompt);
        self.transcribe(&transcript, line);
        let (connection, session) = (self.connection.clone(), self.acp.id.clone());
        let prompting = tokio::spawn(async move { connection.prompt(&session, &prompt).await });
        let gathered = task.as_ref().map(|task| self.gather(task));
        let mut turn = Turn::new(task, transcript, AbortOnDropHandle::new(prompting));
        turn.gathered = gathered.unwrap_or_default();
        turn.injected = (!letters.is_empty()).then_some(call);
        turn.newest_mail = letters
            .iter()
            .map(|letter| letter.header.seq)
            .max()
            .unwrap_or(0);
        self.turn = Some(turn);
        self.primed = true;
        self.used = true;
        self.context = Context::Kept;
    }

    /// Takes unread messages for a prompt; returns them and how many are left.
    pub(super) async fn take_mail(&self, call: CallId, way: Way) -> (Vec<Letter>, usize) {
        let (bus, session) = (self.seat.bus(), self.identity.session);
        let pick = inject::pick();
        let head = pick.head_bytes;
        if self
            .write(Ask::Take {
                session,
                call,
                way,
                pick,
            })
            .await
            .is_none()
        {
            return (Vec::new(), 0);
        }
        let name = &self.identity.name;
        let (handed, more) = bus.look(|state| {
            let handed: Vec<_> = state
                .handed_to(session, call)
                .into_iter()
                .cloned()
                .collect();
            (handed, state.unread(name).count())
        });
        let mut letters = Vec::new();
        for message in handed {
            match bus.letter(message, 0, head) {
                Ok(letter) => letters.push(letter),
                Err(error) => tracing::warn!("failed to read a message: {error}"),
            }
        }
        (letters, more)
    }

    fn primer(&self) -> Option<String> {
        if self.primed {
            return None;
        }
        let (name, session) = (&self.identity.name, self.identity.session);
        let (mates, tools) = self.seat.bus().look(|state| {
            let mates: Vec<Name> = state
                .live_sessions()
                .iter()
                .map(|live| live.name.clone())
                .collect();
            let tools = state
                .session(session)
                .is_some_and(|live| live.tools != Tools::Missing);
            (mates, tools)
        });
        let mates: Vec<_> = mates.into_iter().filter(|mate| mate != name).collect();
        Some(primer::primer(name, &mates, tools))
    }

    pub(super) async fn cancel_turn(&mut self) {
        let cancelled = self.connection.cancel(&self.acp.id).await;
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

    /// Ends a task whose agent does not end its turn. The turn goes on to count as running: no other may begin.
    pub(super) async fn give_up_task(&mut self) {
        let Some(turn) = &mut self.turn else { return };
        turn.given_up = true;
        let (task, output) = (turn.task.clone(), std::mem::take(&mut turn.output));
        let (gathered, calls) = (std::mem::take(&mut turn.gathered), turn.calls.clone());
        if let Some(task) = task {
            let message = "the agent does not end its turn: kill_agent ends the agent";
            let outcome = Outcome::error(TaskStatus::Cancelled, failure::SILENT, message);
            let report = self.report(gathered, None, &output, &calls).await;
            self.finish_with(task, outcome, output, report).await;
        }
    }

    /// Takes in the end of a turn. Returns whether the agent's connection is over.
    pub(super) async fn end_turn(&mut self, ended: Result<PromptOutcome, AcpError>) -> bool {
        // What the agent said before its answer waits already.
        while let Some(event) = self.events.try_recv() {
            self.hear(event);
        }
        self.drop_questions().await;
        self.record_others().await;
        let Some(mut turn) = self.turn.take() else {
            return false;
        };
        let advice = Advice {
            resets_at: turn.gathered.resets_at,
            ..Advice::of(&self.profile, self.wall_ms())
        };
        let asked = turn.cancelled.is_some() || turn.interrupted.is_some();
        let outcome = Outcome::of(&ended, asked, advice);
        let outcome = if turn.failing.is_some() {
            outcome.of_failing(&turn.output, advice, &self.secrets)
        } else {
            outcome
        };
        let line = transcript::of_end(self.wall_ms(), &outcome);
        self.transcribe(&turn.transcript, line);
        let is_cut = turn.is_cut(&outcome);
        // What was in a prompt that was ended for a message is prompted again.
        let seen = turn.alive && outcome.proves_taking() && !is_cut;
        self.settle(&turn, seen).await;
        self.end_of_ladder(seen, outcome.status).await;
        if outcome.gone {
            // The death writes the end of the task, and knows more about it.
            return true;
        }
        let goes_on = is_cut && turn.task.is_some();
        if is_cut {
            turn.gathered.is_cut(outcome.usage);
            self.cut_short(turn);
        } else {
            self.conclude(turn, outcome).await;
        }
        if !goes_on {
            self.rest().await;
        }
        false
    }

    /// Writes what the end of a turn means for its task, or for the mail that it was about.
    async fn conclude(&mut self, mut turn: Turn, outcome: Outcome) {
        match turn.task {
            Some(task) if !turn.given_up => {
                let Turn {
                    gathered,
                    output,
                    calls,
                    ..
                } = turn;
                let report = self.report(gathered, outcome.usage, &output, &calls).await;
                self.finish_with(task, outcome, output, report).await;
            }
            Some(_) => {}
            None => {
                self.spending.grow(turn.gathered.spent());
                if outcome.error.is_some() || !turn.alive {
                    self.mail_failed = self.mail_failed.max(turn.newest_mail);
                }
            }
        }
    }

    /// Says on the bus that the agent has nothing to do, unless that is known.
    async fn rest(&self) {
        let session = self.identity.session;
        let running = self.seat.bus().look(|state| {
            state
                .session(session)
                .is_some_and(|live| live.activity == Activity::Running)
        });
        if running {
            self.write(Ask::Activity {
                session,
                activity: Activity::Idle,
            })
            .await;
        }
    }

    /// Says what became of the messages that went into the prompt, and of those that the model took by tools in its turn.
    async fn settle(&self, turn: &Turn, seen: bool) {
        let session = self.identity.session;
        if let Some(call) = turn.injected {
            self.write(Ask::Settle {
                session,
                call,
                seen,
            })
            .await;
        }
        if seen {
            let pulled: Vec<_> = self.seat.bus().look(|state| {
                state
                    .session(session)
                    .map(|live| {
                        let calls = live.handed.keys().copied();
                        calls.filter(|call| !self.ladder.holds(*call)).collect()
                    })
                    .unwrap_or_default()
            });
            for call in pulled {
                self.write(Ask::Settle {
                    session,
                    call,
                    seen,
                })
                .await;
            }
        }
    }

    pub(super) async fn finish(&self, id: TaskId, outcome: Outcome, output: String) {
        let report = Report {
            context: Some(self.context),
            ..Report::default()
        };
        self.finish_with(id, outcome, output, report).await;
    }

    async fn finish_with(&self, id: TaskId, outcome: Outcome, output: String, report: Report) {
        let output = self.secrets.hidden(output).into();
        let output = match self.seat.bus().long_body(output).await {
            Ok(output) => output,
            Err(error) => {
                tracing::warn!("failed to store the output of {id}: {error}");
                Body::Text(String::new())
            }
        };
        let Outcome {
            status,
            stop_reason,
            error,
            ..
        } = outcome;
        let error = error.map(|error| TaskError {
            message: self.secrets.hidden(error.message).into(),
            ..error
        });
        self.write(Ask::FinishTask(
            id,
            Box::new(Ending {
                status,
                output,
                stop_reason,
                error,
                report,
            }),
        ))
        .await;
    }
}
