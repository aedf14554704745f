//! One session of the agent: its part of the script, its memory, its servers, and its turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agent_client_protocol::Error;
use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{
    FileSystemCapabilities, PromptResponse, SessionConfigOption, SessionConfigOptionCategory,
    SessionConfigOptionValue, SessionConfigSelectOption, SessionId, SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse, StopReason,
};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::acp_handlers::Prompt;
use super::mcp_tools::{Server, ToolsError};
use super::mid_turn_words::{self, SteerAnswer, SteerRequest, Words};
use super::ordered_output::Wire;
use super::play_turn::{Memory, Player, Tools, TurnEnd};
use super::rpc_answers::invalid;
use super::text_blocks::text_of;
use crate::scripted::script::script_format::Part;
use crate::scripted::script::toml_fields::quoted;

/// The id of the config option for the model, and the name of the model in templates.
const MODEL: &str = "model";

/// The id of the config option for the mode, and the name of the mode in templates.
const MODE: &str = "mode";

/// One session.
pub(crate) struct Session {
    part: Arc<Part>,
    /// `None` while a turn runs.
    pub(crate) memory: Option<Memory>,
    model: Option<String>,
    mode: Option<String>,
    tools: watch::Sender<Tools>,
    pub(crate) servers: Vec<Server>,
    running: Option<Running>,
}

struct Running {
    cancel: CancellationToken,
    end: CancellationToken,
    words: Arc<Words>,
}

/// A turn that is about to be played.
pub(crate) struct TurnBegun {
    part: Arc<Part>,
    memory: Memory,
    tools: watch::Receiver<Tools>,
    cancel: CancellationToken,
    end: CancellationToken,
    words: Arc<Words>,
}

/// A turn that was played, and its prompt, which is to be answered.
pub(crate) struct TurnDone {
    pub(crate) session: SessionId,
    pub(crate) memory: Memory,
    pub(crate) end: TurnEnd,
    pub(crate) responder: Responder<PromptResponse>,
}

impl Session {
    /// Makes a session for a member of this name, with its memory of earlier turns.
    pub(crate) fn new(part: Arc<Part>, mut memory: Memory, name: String) -> Self {
        let before = |option: &str| {
            let value = memory.scope.get(option).and_then(Value::as_str);
            value.map(str::to_owned)
        };
        let model = before(MODEL).or_else(|| part.start.models.first().cloned());
        let mode = before(MODE).or_else(|| part.start.modes.first().cloned());
        memory.scope.insert("name".to_owned(), Value::String(name));
        Self {
            part,
            memory: Some(memory),
            model,
            mode,
            tools: watch::channel(None).0,
            servers: Vec::new(),
            running: None,
        }
    }

    /// Returns the history that a load replays.
    pub(crate) fn history(&self) -> Option<&str> {
        self.part.start.history.as_deref()
    }

    /// Says whether a turn runs.
    pub(crate) fn is_busy(&self) -> bool {
        self.running.is_some()
    }

    /// Takes the servers over; turns that wait for tools continue.
    pub(crate) fn started(&mut self, servers: Result<Vec<Server>, ToolsError>) {
        let tools = servers.and_then(|servers| {
            self.servers = servers;
            self.servers.first().map(Server::toolbox).ok_or(ToolsError::None)
        });
        self.tools.send_replace(Some(tools));
    }

    /// Begins a turn, unless one runs.
    pub(crate) fn begin_turn(&mut self) -> Option<TurnBegun> {
        let mut memory = self.memory.take()?;
        memory.scope.insert(MODEL.to_owned(), self.model.clone().into());
        memory.scope.insert(MODE.to_owned(), self.mode.clone().into());
        let (cancel, end) = (CancellationToken::new(), CancellationToken::new());
        let words = Arc::new(Words::default());
        self.running =
            Some(Running { words: Arc::clone(&words), cancel: cancel.clone(), end: end.clone() });
        let part = Arc::clone(&self.part);
        Some(TurnBegun { part, memory, tools: self.tools.subscribe(), cancel, end, words })
    }

    /// Answers a request to steer as the script says; returns the responder if the script leaves the request unanswered.
    pub(crate) fn steer(
        &self,
        request: &SteerRequest,
        responder: Responder<SteerAnswer>,
    ) -> Option<Responder<SteerAnswer>> {
        let words = self.running.as_ref().map(|running| running.words.as_ref());
        mid_turn_words::steer(self.part.start.steering, words, request, responder)
    }

    /// Takes the memory back from the turn.
    pub(crate) fn turn_ended(&mut self, memory: Memory) {
        self.memory = Some(memory);
        self.running = None;
    }

    /// Cancels the turn, unless it ignores cancellation.
    pub(crate) fn cancel(&self) {
        if let Some(running) = &self.running {
            running.cancel.cancel();
        }
    }

    /// Ends the turn, even one that ignores cancellation.
    pub(crate) fn end_turn(&self) {
        if let Some(running) = &self.running {
            running.end.cancel();
        }
    }

    /// Sets the model or the mode, starting with the next turn.
    pub(crate) fn set_option(
        &mut self,
        request: &SetSessionConfigOptionRequest,
    ) -> Result<SetSessionConfigOptionResponse, Error> {
        let start = &self.part.start;
        let (option, values, current) = match request.config_id.to_string().as_str() {
            MODEL => (MODEL, &start.models, &mut self.model),
            MODE => (MODE, &start.modes, &mut self.mode),
            _ => return Err(invalid(format!("the options are `{MODEL}` and `{MODE}`"))),
        };
        let chosen = match &request.value {
            SessionConfigOptionValue::ValueId { value } => value.to_string(),
            _ => String::new(),
        };
        if !values.contains(&chosen) {
            return Err(invalid(format!("`{option}` is one of {}", quoted(values))));
        }
        *current = Some(chosen);
        Ok(SetSessionConfigOptionResponse::new(self.options().unwrap_or_default()))
    }

    /// Returns the choices of models and of modes, if the script has any.
    pub(crate) fn options(&self) -> Option<Vec<SessionConfigOption>> {
        let start = &self.part.start;
        let select =
            |id: &'static str, name: &'static str, current: &Option<String>, all: &[String]| {
                let all = all.iter();
                let all: Vec<_> =
                    all.map(|it| SessionConfigSelectOption::new(it.clone(), it.clone())).collect();
                Some(SessionConfigOption::select(id, name, current.clone()?, all))
            };
        let model = select(MODEL, "Model", &self.model, &start.models)
            .map(|option| option.category(SessionConfigOptionCategory::Model));
        let mode = select(MODE, "Mode", &self.mode, &start.modes)
            .map(|option| option.category(SessionConfigOptionCategory::Mode));
        let options: Vec<_> = model.into_iter().chain(mode).collect();
        (!options.is_empty()).then_some(options)
    }
}

impl TurnBegun {
    /// Plays the turn to its end, or until it is cancelled.
    pub(crate) async fn play(
        self,
        prompt: Prompt,
        wire: Arc<Wire>,
        files: FileSystemCapabilities,
    ) -> TurnDone {
        let Self { part, mut memory, tools, cancel, end, words } = self;
        let ignores_cancel = Arc::new(AtomicBool::new(false));
        let Prompt { request, responder, connection } = prompt;
        let session = request.session_id;
        let mut player = Player {
            connection,
            wire,
            files,
            session: session.clone(),
            part,
            tools,
            ignores_cancel: Arc::clone(&ignores_cancel),
            words,
            memory: &mut memory,
        };
        let cancelled = async {
            cancel.cancelled().await;
            if ignores_cancel.load(Ordering::Acquire) {
                std::future::pending::<()>().await;
            }
        };
        let end = tokio::select! {
            // A turn plays its first steps even if it is cancelled already, so that `ignore_cancel` can be one of them.
            biased;
            end = player.play(text_of(&request.prompt)) => end,
            () = end.cancelled() => TurnEnd::Stopped(StopReason::Cancelled),
            () = cancelled => TurnEnd::Stopped(StopReason::Cancelled),
        };
        TurnDone { session, memory, end, responder }
    }
}

impl TurnDone {
    /// Answers the prompt; a crashed turn has no answer.
    pub(crate) fn answer(self) -> Result<(), Error> {
        match self.end {
            TurnEnd::Stopped(reason) => self.responder.respond(PromptResponse::new(reason)),
            TurnEnd::Failed { code, message } => {
                self.responder.respond_with_error(Error::new(code, message))
            }
            TurnEnd::Crashed(_) => Ok(()),
        }
    }
}
