//! The turns of an agent: how one begins with a task or with mail, and what its end means for the bus.

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::transcript;
use super::turn_record::{Outcome, Turn};
use crate::acp::{AcpError, PromptOutcome};
use crate::bus::event::{Body, TaskReport};
use crate::bus::rules::{Ending, Operation};
use crate::bus::state::Task;
use crate::bus::storage::LogError;
use crate::bus::{BusError, LoadedMessage};
use crate::delivery::introduction;
use crate::delivery::methods::before_task;
use crate::delivery::methods::wake_idle::{self, Tried};
use crate::delivery::recipient::Reader;
use crate::domain::ids::{CallId, TaskId};
use crate::domain::limits;
use crate::domain::member::{Activity, Tools};
use crate::domain::messaging::DeliveryMethod;
use crate::domain::name::Name;
use crate::domain::permission::Policy;
use crate::domain::task::result::Context;
use crate::domain::task::{TaskError, TaskStatus, error_class};
use crate::sys::random_ids;
use crate::team::agent::actor::Actor;
use crate::team::agent::model_and_mode::{What, choose};
use crate::team::agent::pending_writes::{self, End};
use crate::team::agent::start_process;
use crate::team::agent::start_timeout::patient;
use crate::team::results::collect::Spending;
use crate::team::results::error_advice::Advice;

/// What an agent is told that goes on with a task.
const RESUMED: &str = "Your process ended in the middle of this task and was restarted. Check how \
                       far you got, and continue from there.";

/// How often a prompt is read again that cannot be read: over six seconds.
const READS_AGAIN: u32 = 5;

/// Unread messages that were taken for the model.
#[derive(Default)]
pub(crate) struct ReceivedMail {
    pub(crate) letters: Vec<LoadedMessage>,
    /// How many are left.
    pub(crate) more: usize,
    /// Whether some of those cannot be read now.
    failed: bool,
}

impl Actor {
    pub(crate) async fn begin_task(&mut self, id: TaskId) {
        match self.membership.ask(Operation::StartTask(id.clone())).await {
            Ok(_) => {}
            // It was cancelled meanwhile.
            Err(BusError::Refused(_)) => return,
            Err(error) => {
                tracing::warn!("failed to start {id}: {error}");
                return;
            }
        }
        let task = self.membership.bus().look(|state| state.task(&id).cloned());
        let Some(task) = task else { return };
        if let Err(outcome) = self.prepare(&task).await {
            self.finish(id, outcome, String::new()).await;
            return;
        }
        let text = match self.prompt_of(&task).await {
            Ok(text) => text,
            Err(error) => {
                let outcome = Outcome::error(TaskStatus::Failed, "bus", &error.told());
                self.finish(id, outcome, String::new()).await;
                return;
            }
        };
        let call = random_ids::call();
        let ReceivedMail { letters, more, .. } = self.take_mail(call, DeliveryMethod::Inject).await;
        let primer = self.primer();
        let prompt =
            before_task::task_prompt(primer.as_deref(), &letters, self.reader(), more, &text);
        self.begin_turn(Some(id), prompt, call, &letters);
    }

    /// Reads what a task is to do, again where that fails: descriptors that have run out, or a disk that hangs for a moment, are no end
    /// of a task.
    pub(crate) async fn prompt_of(&self, task: &Task) -> Result<String, BusError> {
        let mut pauses = (1..=READS_AGAIN).map(pending_writes::pause);
        loop {
            let text = self.membership.bus().text(task.prompt);
            match (text, pauses.next()) {
                (Err(BusError::Log(LogError::Io { .. })), Some(pause)) => {
                    tokio::time::sleep(pause).await;
                }
                (text, _) => return text,
            }
        }
    }

    /// Goes on with the task in whose turn an earlier process ended, if its session could be taken up; else ends it.
    pub(crate) async fn resume_task(&mut self, id: TaskId) {
        self.interrupted = None;
        let task = self.membership.bus().look(|state| state.task(&id).cloned());
        let Some(task) = task else { return };
        if task.cancel_asked {
            self.finish(id, Outcome::plain(TaskStatus::Cancelled), String::new()).await;
            return;
        }
        let text = self.prompt_of(&task).await;
        let (true, Ok(text)) = (self.resumed, text) else {
            let message = "the agent crashed and was restarted without its session";
            let outcome = Outcome::error(TaskStatus::Interrupted, "crashed", message);
            self.finish(id, outcome, String::new()).await;
            return;
        };
        if let Err(error) = self.enter_mode(self.policy_of(&task)).await {
            self.finish(id, Outcome::failed(error), String::new()).await;
            return;
        }
        let resume = Operation::ResumeTask(id.clone());
        match self.membership.ask_again(self.resuming, resume).await {
            Ok(_) => {}
            // It is over.
            Err(BusError::Refused(_)) => return,
            Err(error) => {
                tracing::warn!("failed to resume {id}: {error}");
                self.interrupted = Some(id);
                return;
            }
        }
        let call = random_ids::call();
        let ReceivedMail { letters, more, .. } = self.take_mail(call, DeliveryMethod::Inject).await;
        let prompt = before_task::task_prompt(Some(RESUMED), &letters, self.reader(), more, &text);
        self.begin_turn(Some(id), prompt, call, &letters);
    }

    /// Makes the session what the task wants: a new one, another mode, another model.
    async fn prepare(&mut self, task: &Task) -> Result<(), Outcome> {
        let policy = self.policy_of(task);
        if task.fresh && self.used {
            let servers = std::slice::from_ref(&self.endpoint);
            let beginning = self.connection.new_session(&self.identity.cwd, servers);
            let limit = self.profile.start.value;
            let session = patient(&self.child, limit, "session/new", beginning).await;
            let advice = Advice::of(&self.profile, self.wall_ms());
            let mut session = session.map_err(|error| Outcome::failed(advice.on(&error)))?;
            let (connection, profile) = (&self.connection, &self.profile);
            let set =
                start_process::set_mode(connection, &mut session, profile, policy, advice).await;
            // In the wrong mode the new session is not used at all.
            set.map_err(Outcome::failed)?;
            self.acp = session;
            self.questions.forget_calls();
            self.offers.note(self.identity.session, &self.acp);
            self.primed = false;
            self.used = false;
            self.context = Context::New;
            self.spending = Spending::Nothing;
            self.record_session().await;
            // The new session has to find the tools anew, and who needs this shows them late.
            tokio::time::sleep(self.profile.settle.value).await;
        }
        self.enter_mode(policy).await.map_err(Outcome::failed)?;
        let default = self
            .profile
            .default_model
            .as_ref()
            .filter(|_| !self.used)
            .map(|model| model.value.clone());
        if let Some(model) = task.model.clone().or(default) {
            let advice = Advice::of(&self.profile, self.wall_ms());
            let chosen = choose(What::Model, &model, &self.connection, &self.acp, advice).await;
            chosen.map_err(Outcome::failed)?;
            let model = self.secrets.hidden(model);
            self.acp.note_model(&model);
            let (session, model) = (self.identity.session, model.into());
            self.record(Operation::Model { session, model }).await;
        }
        Ok(())
    }

    /// Puts the session into the mode of a policy, unless it is in it. An agent may have left the one it was put into.
    pub(crate) async fn enter_mode(&mut self, policy: Policy) -> Result<(), TaskError> {
        let wanted = self.profile.mode_under(policy);
        if wanted.is_none_or(|wanted| self.acp.is_put_into(wanted)) {
            return Ok(());
        }
        let advice = Advice::of(&self.profile, self.wall_ms());
        let (connection, profile) = (&self.connection, &self.profile);
        start_process::set_mode(connection, &mut self.acp, profile, policy, advice).await
    }

    pub(crate) async fn begin_wake(&mut self, newest: u64) {
        if let Err(error) = self.enter_mode(self.profile.permissions.value).await {
            let name = &self.identity.name;
            tracing::warn!("failed to wake {name}: {}", error.message);
            let tried = self.tried(&[], newest);
            self.ladder.tried.add(tried);
            return;
        }
        let call = random_ids::call();
        self.ladder.woken = Some(Instant::now());
        let ReceivedMail { letters, more, failed } =
            self.take_mail(call, DeliveryMethod::Prompt).await;
        if letters.is_empty() {
            if failed {
                // It stays unread, and wakes the agent later.
                self.ladder.wake_later();
            }
            // Else somebody else was faster. Should it come again (a request may be open again), it wakes the agent then.
            self.rest().await;
            return;
        }
        let tries = self.tried(&letters, newest);
        let primer = self.primer();
        let prompt = wake_idle::wake_prompt(primer.as_deref(), &letters, self.reader(), more);
        self.begin_turn(None, prompt, call, &letters);
        if let Some(turn) = &mut self.turn {
            turn.tries = tries;
        }
    }

    /// Returns what a wake tries that has these in its prompt, and was begun for mail up to that place.
    fn tried(&self, letters: &[LoadedMessage], newest: u64) -> Tried {
        let bus = self.membership.bus();
        bus.look(|state| Tried::by(state, &self.identity.name, letters, newest))
    }

    pub(crate) fn begin_turn(
        &mut self,
        task: Option<TaskId>,
        prompt: String,
        call: CallId,
        letters: &[LoadedMessage],
    ) {
        // A wake is no task, but its transcript needs a name of the same kind.
        let transcript = task
            .clone()
            .unwrap_or_else(|| TaskId::from_bits(random_ids::session().0.as_u64_pair().1));
        let line = transcript::of_prompt(self.wall_ms(), self.identity.name.as_str(), &prompt);
        self.transcribe(&transcript, line);
        let (connection, session) = (self.connection.clone(), self.acp.id.clone());
        let gathered = task.as_ref().map(|task| self.gather(task));
        let gathered = gathered.unwrap_or_default();
        let (hold, recall) = (gathered.hold(), CancellationToken::new());
        let recalled = recall.clone();
        let prompting = tokio::spawn(async move {
            if let Some(hold) = hold
                && recalled.run_until_cancelled(hold.wait()).await.is_none()
            {
                return Ok(PromptOutcome::unsent());
            }
            connection.prompt(&session, &prompt).await
        });
        let mut turn = Turn::new(task, transcript, AbortOnDropHandle::new(prompting));
        turn.gathered = gathered;
        turn.recall = recall;
        turn.injected = (!letters.is_empty()).then_some(call);
        self.turn = Some(turn);
        self.primed = true;
        self.used = true;
        self.context = Context::Kept;
    }

    /// Takes unread messages for a prompt: those whose texts can be read. What the bus cannot hand over now stays unread.
    pub(crate) async fn take_mail(&mut self, call: CallId, way: DeliveryMethod) -> ReceivedMail {
        let (bus, session) = (self.membership.bus().clone(), self.identity.session);
        if let Err(error) = bus.refresh() {
            tracing::warn!("failed to refresh the bus for {}: {error}", self.identity.name);
        }
        let pick = match way {
            DeliveryMethod::Prompt => wake_idle::pick(self.profile.prompt_bytes.value),
            _ => before_task::pick(),
        };
        let readable = bus.readable(session, &pick, &[]);
        let pick = readable.pick(pick);
        let take = Operation::Take { session, call, way, pick };
        if !readable.is_empty() {
            match self.membership.ask(take).await {
                Ok(_) => {}
                Err(BusError::Refused(_)) => return ReceivedMail::default(),
                Err(error) => {
                    tracing::warn!("failed to receive messages for a prompt: {error}");
                    // The hand-over may be on the bus, and what it handed over is not shown.
                    self.settle_call(call, false).await;
                    return ReceivedMail { failed: true, ..ReceivedMail::default() };
                }
            }
        }
        let (name, failed) = (&self.identity.name, readable.failed.is_some());
        bus.look(|state| ReceivedMail {
            more: state.unread(name).count(),
            letters: readable.delivered(state, session, call),
            failed,
        })
    }

    fn primer(&self) -> Option<String> {
        if self.primed {
            return None;
        }
        let (name, session) = (&self.identity.name, self.identity.session);
        let (mates, tools) = self.membership.bus().look(|state| {
            let mates: Vec<Name> =
                state.live_sessions().iter().map(|live| live.name.clone()).collect();
            let tools = state.session(session).is_some_and(|live| live.tools != Tools::Missing);
            (mates, tools)
        });
        let mates: Vec<_> = mates.into_iter().filter(|mate| mate != name).collect();
        Some(introduction::introduce(self.reader(), &mates, tools))
    }

    /// Returns the agent as the reader of texts.
    pub(crate) fn reader(&self) -> Reader<'_> {
        let prefix = self.profile.tool_prefix.as_ref();
        let prefix = prefix.map_or("", |prefix| prefix.value.as_str());
        Reader::new(&self.identity.name, prefix)
    }

    pub(crate) async fn cancel_turn(&mut self) {
        self.recall();
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

    /// Keeps the prompt of the turn back, if it is not on its way yet: the agent would take it for one that nobody has cancelled.
    pub(crate) fn recall(&self) {
        if let Some(turn) = &self.turn {
            turn.recall.cancel();
        }
    }

    /// Ends a task whose agent does not end its turn. The turn goes on to count as running: no other may begin.
    pub(crate) async fn give_up_task(&mut self) {
        // First of all, so that the end of the task makes nobody think that the agent is free.
        self.record(Operation::Stuck(self.identity.session)).await;
        let Some(turn) = &mut self.turn else { return };
        turn.given_up = true;
        let (task, output) = (turn.task.clone(), std::mem::take(&mut turn.output));
        let (gathered, calls) = (std::mem::take(&mut turn.gathered), turn.calls.clone());
        if let Some(task) = task {
            let message = "the agent ignored the cancel request; kill_agent stops it";
            let outcome = Outcome::error(TaskStatus::Cancelled, error_class::SILENT, message);
            let report = self.report(gathered, None, &output, &calls).await;
            self.finish_with(task, outcome, output, report).await;
        }
    }

    /// Takes in the end of a turn. Returns whether the agent's connection is over.
    pub(crate) async fn end_turn(&mut self, ended: Result<PromptOutcome, AcpError>) -> bool {
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
        // Whatever is made of it for the task: our tools' calls in it ended with it.
        let ended_as = outcome.status;
        let outcome = if asked || turn.given_up {
            outcome
        } else {
            outcome.of_refused(&turn.gathered.refused_titles())
        };
        let line = transcript::of_end(self.wall_ms(), &outcome);
        self.transcribe(&turn.transcript, line);
        let is_cut = turn.is_cut(&outcome);
        // What was in a prompt that was ended for a message is prompted again.
        let seen = turn.alive && outcome.proves_taking() && !is_cut;
        self.settle(&turn, seen, ended_as).await;
        self.end_of_ladder(ended_as).await;
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
                let Turn { gathered, output, calls, .. } = turn;
                let report = self.report(gathered, outcome.usage, &output, &calls).await;
                self.finish_with(task, outcome, output, report).await;
            }
            Some(_) => self.record(Operation::Free(self.identity.session)).await,
            None => {
                self.spending.grow(turn.gathered.spent());
                if outcome.error.is_some() || !turn.alive {
                    self.ladder.tried.add(turn.tries);
                }
            }
        }
    }

    /// Says on the bus that the agent has nothing to do, unless that is known.
    async fn rest(&mut self) {
        let session = self.identity.session;
        let running = self.membership.bus().look(|state| {
            state.session(session).is_some_and(|live| live.activity == Activity::Running)
        });
        // The end of a task that is not written yet leaves it running.
        if running || !self.unwritten.is_empty() {
            self.record(Operation::Activity { session, activity: Activity::Idle }).await;
        }
    }

    /// Says what became of the messages that went into the prompt, and of those that the model took by tools in its turn.
    async fn settle(&mut self, turn: &Turn, seen: bool, status: TaskStatus) {
        if let Some(call) = turn.injected {
            self.settle_call(call, seen).await;
        }
        // What a tool has told in a turn that was cancelled may not have come before the model any more.
        if seen && status != TaskStatus::Cancelled {
            for call in self.shown_by_tools(turn).await {
                self.settle_call(call, seen).await;
            }
        }
    }

    pub(crate) async fn finish(&mut self, id: TaskId, outcome: Outcome, output: String) {
        let report = TaskReport { context: Some(self.context), ..TaskReport::default() };
        self.finish_with(id, outcome, output, (report, None)).await;
    }

    async fn finish_with(
        &mut self,
        id: TaskId,
        outcome: Outcome,
        output: String,
        (report, details): (TaskReport, Option<String>),
    ) {
        let Outcome { status, stop_reason, error, .. } = outcome;
        let error = error.map(|error| error.written(&self.secrets));
        let word = |text: String| self.secrets.hidden(text).clipped(limits::WORD_BYTES);
        let stop_reason = stop_reason.map(word);
        let ending =
            Ending { status, output: Body::Text(String::new()), stop_reason, error, report };
        let end = End::new(id, ending, self.secrets.hidden(output).into());
        let is_first = self.unwritten.is_empty();
        self.unwritten.push_end(End { details, ..end });
        if is_first {
            self.unwritten.write(&self.membership).await;
        }
    }
}
