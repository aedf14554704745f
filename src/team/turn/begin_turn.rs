//! Begins a turn of an agent: with a task, with the rest of one, or with messages.
//!
//! Methods of the actor: `begin_task`, `resume_task` (after a crash), `continue_task` (after a message interrupted it) and
//! `begin_wake`.

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::conversation::Conversation;
use super::outcome::Outcome;
use super::receive_mail::{self, ReceivedMail};
use super::send_prompt::send_unless_recalled;
use super::transcript;
use super::turn_record::Turn;
use crate::bus::rules::Operation;
use crate::bus::state::Task;
use crate::bus::storage::LogError;
use crate::bus::{BusError, LoadedMessage};
use crate::delivery::introduction;
use crate::delivery::methods::wake_idle::{self, Tried};
use crate::delivery::methods::{before_task, interrupt};
use crate::delivery::thread_context::Mail;
use crate::domain::ids::{CallId, TaskId};
use crate::domain::member::Tools;
use crate::domain::messaging::DeliveryMethod;
use crate::domain::name::Name;
use crate::domain::permission::Policy;
use crate::domain::task::{TaskError, TaskStatus};
use crate::sys::random_ids;
use crate::team::agent::actor::Actor;
use crate::team::agent::model_and_mode::{What, choose};
use crate::team::agent::pending_writes;
use crate::team::agent::start_process::{AgentProcess, set_mode};
use crate::team::agent::start_timeout::patient;
use crate::team::permissions::effective_policy;
use crate::team::results::report;
use crate::team::results::session_cost::SessionCost;

/// The introduction of the prompt with which an agent continues a task after a crash.
const RESUMED: &str = "Your process ended in the middle of this task and was restarted. Check how \
                       far you got, and continue from there.";

/// How often the bridge retries to read a prompt: over six seconds.
const READS_AGAIN: u32 = 5;

impl Actor {
    pub(crate) async fn begin_task(&mut self, id: TaskId) {
        match self.agent.membership.ask(Operation::StartTask(id.clone())).await {
            Ok(_) => {}
            // The task was cancelled meanwhile.
            Err(BusError::Refused(_)) => return,
            Err(error) => {
                tracing::warn!("failed to start {id}: {error}");
                return;
            }
        }
        let task = self.agent.bus().look(|state| state.task(&id).cloned());
        let Some(task) = task else { return };
        if let Err(outcome) = self.prepare(&task).await {
            self.finish(id, outcome, String::new()).await;
            return;
        }
        let text = match self.prompt_of(&task).await {
            Ok(text) => text,
            Err(error) => {
                let outcome = Outcome::error(TaskStatus::Failed, "bus", &error.message_for_model());
                self.finish(id, outcome, String::new()).await;
                return;
            }
        };
        let call = random_ids::call();
        let ReceivedMail { messages, earlier, more, .. } =
            self.receive_mail(call, DeliveryMethod::Inject).await;
        let introduction = self.introduction();
        let prompt = before_task::task_prompt(
            introduction.as_deref(),
            Mail { messages: &messages, earlier: Some(&earlier) },
            self.agent.reader(),
            more,
            &text,
        );
        self.begin_turn(Some(id), prompt, call, &messages);
    }

    /// Reads the prompt of a task, with retries: a lack of descriptors, or a disk that hangs for a moment, must not end a task.
    pub(crate) async fn prompt_of(&self, task: &Task) -> Result<String, BusError> {
        let mut pauses = (1..=READS_AGAIN).map(pending_writes::pause);
        loop {
            let text = self.agent.bus().text(task.prompt);
            match (text, pauses.next()) {
                (Err(BusError::Log(LogError::Io { .. })), Some(pause)) => {
                    tokio::time::sleep(pause).await;
                }
                (text, _) => return text,
            }
        }
    }

    /// Continues the task in whose turn an earlier process ended, if its session could be resumed; else ends it.
    pub(crate) async fn resume_task(&mut self, id: TaskId) {
        self.interrupted = None;
        let task = self.agent.bus().look(|state| state.task(&id).cloned());
        let Some(task) = task else { return };
        if task.cancel_asked {
            self.finish(id, Outcome::plain(TaskStatus::Cancelled), String::new()).await;
            return;
        }
        let text = self.prompt_of(&task).await;
        let (true, Ok(text)) = (self.process.resumed, text) else {
            let message = "the agent crashed and was restarted without its session";
            let outcome = Outcome::error(TaskStatus::Interrupted, "crashed", message);
            self.finish(id, outcome, String::new()).await;
            return;
        };
        if let Err(error) = self.enter_mode(effective_policy::of_task(&self.agent, &task)).await {
            self.finish(id, Outcome::failed(error), String::new()).await;
            return;
        }
        let resume = Operation::ResumeTask(id.clone());
        match self.agent.membership.ask_again(self.resuming, resume).await {
            Ok(_) => {}
            // The task is over.
            Err(BusError::Refused(_)) => return,
            Err(error) => {
                tracing::warn!("failed to resume {id}: {error}");
                self.interrupted = Some(id);
                return;
            }
        }
        let call = random_ids::call();
        let ReceivedMail { messages, earlier, more, .. } =
            self.receive_mail(call, DeliveryMethod::Inject).await;
        let mail = Mail { messages: &messages, earlier: Some(&earlier) };
        let prompt =
            before_task::task_prompt(Some(RESUMED), mail, self.agent.reader(), more, &text);
        self.begin_turn(Some(id), prompt, call, &messages);
    }

    /// Continues the task whose turn was interrupted for a message: with the message, and with the prompt of the task.
    pub(crate) async fn continue_task(&mut self, id: TaskId) {
        let Some(before) = self.mid_turn.take_interrupted() else {
            return;
        };
        let task = self.agent.bus().look(|state| state.task(&id).cloned());
        let Some(task) = task else { return };
        let entered = self.enter_mode(effective_policy::of_task(&self.agent, &task)).await;
        let outcome = match (entered, self.prompt_of(&task).await) {
            _ if task.cancel_asked => Outcome::plain(TaskStatus::Cancelled),
            (Err(error), _) => Outcome::failed(error),
            (Ok(()), Ok(text)) => {
                let call = random_ids::call();
                let ReceivedMail { messages, earlier, more, .. } =
                    self.receive_mail(call, DeliveryMethod::Interrupt).await;
                let mail = Mail { messages: &messages, earlier: Some(&earlier) };
                let reader = self.agent.reader();
                let prompt = match self.introduction() {
                    // The interrupted prompt was never sent.
                    Some(introduction) => {
                        before_task::task_prompt(Some(&introduction), mail, reader, more, &text)
                    }
                    None => interrupt::again_prompt(mail, reader, more, &text),
                };
                self.begin_turn(Some(id), prompt, call, &messages);
                if let Some(turn) = &mut self.turn {
                    turn.continue_from(before);
                }
                return;
            }
            (Ok(()), Err(error)) => {
                Outcome::error(TaskStatus::Failed, "bus", &error.message_for_model())
            }
        };
        self.finish_interrupted(id, outcome, before).await;
    }

    /// Prepares the session for the task: a fresh one, another mode, another model.
    async fn prepare(&mut self, task: &Task) -> Result<(), Outcome> {
        let policy = effective_policy::of_task(&self.agent, task);
        if task.fresh && self.conversation.used {
            let servers = std::slice::from_ref(&self.process.endpoint);
            let beginning = self.process.connection.new_session(&self.agent.identity.cwd, servers);
            let limit = self.agent.profile.start.value;
            let session = patient(&self.process.child, limit, "session/new", beginning).await;
            let mut session =
                session.map_err(|error| Outcome::failed(self.agent.advice().on(&error)))?;
            let set = set_mode(&self.agent, &self.process.connection, &mut session, policy).await;
            // A session in the wrong mode is not used at all.
            set.map_err(Outcome::failed)?;
            self.process.session = session;
            self.questions.forget_calls();
            self.agent.offers.note(self.agent.session(), &self.process.session);
            self.conversation = Conversation::new(self.agent.next_seq());
            self.session_cost = SessionCost::Nothing;
            self.record_session().await;
            // The new session must load the tools again, and some agents show them late.
            tokio::time::sleep(self.agent.profile.settle.value).await;
        }
        self.enter_mode(policy).await.map_err(Outcome::failed)?;
        let default = self.agent.profile.default_model.as_ref().filter(|_| !self.conversation.used);
        let default = default.map(|model| model.value.clone());
        if let Some(model) = task.model.clone().or(default) {
            let AgentProcess { connection, session, .. } = &self.process;
            let chosen =
                choose(What::Model, &model, connection, session, self.agent.advice()).await;
            chosen.map_err(Outcome::failed)?;
            let model = self.agent.secrets.hidden(model);
            self.process.session.note_model(&model);
            let (session, model) = (self.agent.session(), model.into());
            self.record(Operation::Model { session, model }).await;
        }
        Ok(())
    }

    /// Puts the session into the mode of a policy, if it is in another. An agent may have left the mode it was put into.
    pub(crate) async fn enter_mode(&mut self, policy: Policy) -> Result<(), TaskError> {
        let required = self.agent.profile.mode_under(policy);
        if required.is_none_or(|required| self.process.session.is_put_into(required)) {
            return Ok(());
        }
        let AgentProcess { connection, session, .. } = &mut self.process;
        set_mode(&self.agent, connection, session, policy).await
    }

    pub(crate) async fn begin_wake(&mut self, newest: u64) {
        if let Err(error) = self.enter_mode(self.agent.profile.permissions.value).await {
            let name = self.agent.name();
            tracing::warn!("failed to wake {name}: {}", error.message);
            self.note_failed_wake(error, newest).await;
            return;
        }
        let call = random_ids::call();
        self.mid_turn.woken = Some(Instant::now());
        let ReceivedMail { messages, earlier, more, failed } =
            self.receive_mail(call, DeliveryMethod::Prompt).await;
        if messages.is_empty() {
            if failed {
                // The messages stay unread, and wake the agent later.
                self.mid_turn.wake_later();
            }
            // Else another process was faster. Messages that become unread again, such as those of a reopened request, wake the
            // agent then.
            self.rest().await;
            return;
        }
        let wake = self.wake(&messages, newest);
        let introduction = self.introduction();
        let mail = Mail { messages: &messages, earlier: Some(&earlier) };
        let prompt =
            wake_idle::wake_prompt(introduction.as_deref(), mail, self.agent.reader(), more);
        self.begin_turn(None, prompt, call, &messages);
        if let Some(turn) = &mut self.turn {
            turn.wake = wake;
        }
    }

    /// Records a wake whose turn could not begin as one that failed, so that windows tell of it: its messages are unread again, and its
    /// transcript says why.
    async fn note_failed_wake(&mut self, error: TaskError, newest: u64) {
        let call = random_ids::call();
        let ReceivedMail { messages, .. } = self.receive_mail(call, DeliveryMethod::Prompt).await;
        let wake = self.wake(&messages, newest);
        self.mid_turn.tried.add(wake);
        if !messages.is_empty() {
            let line = transcript::of_end(self.agent.wall_ms(), &Outcome::failed(error));
            self.agent.transcribe(&TaskId::of_turn_by(call), line);
            receive_mail::settle(&self.agent, &mut self.unwritten, call, false).await;
        }
        self.rest().await;
    }

    /// Returns the messages of a wake: those in its prompt, out of all up to the position for which it began.
    fn wake(&self, messages: &[LoadedMessage], newest: u64) -> Tried {
        let bus = self.agent.bus();
        bus.look(|state| Tried::by(state, self.agent.name(), messages, newest))
    }

    pub(crate) fn begin_turn(
        &mut self,
        task: Option<TaskId>,
        prompt: String,
        call: CallId,
        messages: &[LoadedMessage],
    ) {
        // A wake has no task, but its transcript needs a name of the same kind, which windows derive from the call.
        let transcript = task.clone().unwrap_or_else(|| TaskId::of_turn_by(call));
        let line = transcript::of_prompt(self.agent.wall_ms(), self.agent.name().as_str(), &prompt);
        self.agent.transcribe(&transcript, line);
        let (connection, session) =
            (self.process.connection.clone(), self.process.session.id.clone());
        let collected =
            task.as_ref().map(|task| report::begin(&self.agent, task, self.conversation.context));
        let collected = collected.unwrap_or_default();
        let (hold, recall) = (collected.hold(), CancellationToken::new());
        let recalled = recall.clone();
        let prompting = tokio::spawn(async move {
            let until_released = async {
                if let Some(hold) = hold {
                    hold.wait().await;
                }
            };
            send_unless_recalled(until_released, &recalled, connection.prompt(&session, &prompt))
                .await
        });
        let mut turn = Turn::new(task, transcript, AbortOnDropHandle::new(prompting));
        turn.collected = collected;
        turn.recall = recall;
        turn.prompt_call = (!messages.is_empty()).then_some(call);
        turn.before = Some(self.conversation);
        self.turn = Some(turn);
        self.conversation = self.conversation.begun();
    }

    fn introduction(&self) -> Option<String> {
        if self.conversation.introduced {
            return None;
        }
        let (name, session) = (self.agent.name(), self.agent.session());
        let (mates, tools) = self.agent.bus().look(|state| {
            let mates: Vec<Name> =
                state.live_sessions().iter().map(|live| live.name.clone()).collect();
            let tools = state.session(session).is_some_and(|live| live.tools != Tools::Missing);
            (mates, tools)
        });
        let mates: Vec<_> = mates.into_iter().filter(|mate| mate != name).collect();
        Some(introduction::introduce(self.agent.reader(), &mates, tools))
    }

    async fn receive_mail(&mut self, call: CallId, method: DeliveryMethod) -> ReceivedMail {
        let mut mail = receive_mail::receive(&self.agent, &mut self.unwritten, call, method).await;
        mail.read_earlier(&self.agent, self.conversation.began_seq).await;
        mail
    }
}
