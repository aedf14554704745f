//! The handle of a connection: the requests to an agent, each with its deadline.

use super::data::agent_info::{AgentInfo, Feature};
use super::data::prompt_result::PromptOutcome;
use super::data::session_settings::{AcpSessionId, McpServerSpec, SessionInfo};
use super::data::text_bounds;
use super::error::{AcpError, Ending};
use super::incoming::event_queue::{AgentEvents, queue};
use super::incoming::file_request::FileSystem;
use super::line_io::LineCounts;
use super::transport::{ConnectOptions, Progress, SharedTransport, drive};
use crate::domain::limits::{AGENT_ERROR_CHARS, AGENT_WORD_CHARS};
use crate::domain::text::redact::Secrets;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::{
    Agent, Error, ErrorCode, UntypedMessage, is_connection_terminated, is_incoming_transport_closed,
};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{oneshot, watch};
use tokio_util::sync::DropGuard;

/// A connection to one agent. Clones are the same connection; dropping the last one shuts it down.
#[derive(Clone)]
pub struct Connection {
    protocol: ConnectionTo<Agent>,
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<SharedTransport>,
    progress: watch::Receiver<Progress>,
    agent: OnceLock<AgentInfo>,
    _stop: DropGuard,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("progress", &*self.inner.progress.borrow())
            .finish_non_exhaustive()
    }
}

/// Connects to an agent by its stdout and stdin, and starts the connection's only task on the current tokio runtime.
///
/// Nothing is sent yet. The task ends when the agent closes its stdout, when a pipe breaks, or after [`Connection::shutdown`];
/// [`Connection::ended`] waits for it.
///
/// The caller has to keep receiving events, also while it awaits a request: when too many wait, reading stops, and answers wait behind
/// the unread lines.
pub async fn connect(
    stdout: impl AsyncRead + Send + Unpin + 'static,
    stdin: impl AsyncWrite + Send + Unpin + 'static,
    options: ConnectOptions,
) -> Result<(Connection, AgentEvents), AcpError> {
    let (queue, events) = queue(options.events_limit);
    let shared = Arc::new(SharedTransport::new(options, queue));
    let stop = shared.stop.clone().drop_guard();
    let (ready, protocol) = oneshot::channel();
    let (progress_sender, progress) = watch::channel(Progress::default());
    tokio::spawn(drive(stdout, stdin, Arc::clone(&shared), ready, progress_sender));
    let Ok(protocol) = protocol.await else {
        return Err(AcpError::Closed { method: "connect".into(), ending: ending(progress).await });
    };
    let inner = Inner { shared, progress, agent: OnceLock::new(), _stop: stop };
    Ok((Connection { protocol, inner: Arc::new(inner) }, events))
}

impl Connection {
    /// Agrees on version 1 of the protocol, and returns the capabilities of the agent. The first call, and only once.
    pub async fn initialize(&self) -> Result<AgentInfo, AcpError> {
        let files = self.inner.shared.options.file_system == FileSystem::Offered;
        let params = json!({
            "protocolVersion": 1,
            "clientCapabilities": {"fs": {"readTextFile": files, "writeTextFile": files}, "terminal": false},
            "clientInfo": {"name": self.inner.shared.options.client_name, "version": env!("CARGO_PKG_VERSION")},
        });
        let answer =
            self.call("initialize", params, self.inner.shared.options.deadlines.initialize).await;
        let version = self.inner.shared.version.get();
        if let Some(version) = version.filter(|version| **version != 1) {
            return Err(AcpError::Version {
                version: text_bounds::line(&version.to_string(), self.secrets(), AGENT_WORD_CHARS)
                    .into(),
            });
        }
        let agent = AgentInfo::parse(&answer?, self.secrets());
        Ok(self.inner.agent.get_or_init(|| agent).clone())
    }

    /// Begins a session in an existing directory (an absolute path), with the MCP servers that the agent is to start.
    ///
    /// Several agents answer before those servers have listed their tools.
    pub async fn new_session(
        &self,
        cwd: &Path,
        servers: &[McpServerSpec],
    ) -> Result<SessionInfo, AcpError> {
        let method = "session/new";
        let answer = self.session_call(method, place(cwd, servers)).await?;
        let id = AcpSessionId::parse(method, &answer)?;
        Ok(SessionInfo::parse(id, &answer, self.secrets()))
    }

    /// Loads an earlier session; its history comes as updates before this returns.
    pub async fn load_session(
        &self,
        session: &AcpSessionId,
        cwd: &Path,
        servers: &[McpServerSpec],
    ) -> Result<SessionInfo, AcpError> {
        self.offered("session/load", Feature::Load)?;
        self.reopen("session/load", session, cwd, servers).await
    }

    /// Resumes an earlier session without its history.
    pub async fn resume_session(
        &self,
        session: &AcpSessionId,
        cwd: &Path,
        servers: &[McpServerSpec],
    ) -> Result<SessionInfo, AcpError> {
        self.offered("session/resume", Feature::Resume)?;
        self.reopen("session/resume", session, cwd, servers).await
    }

    /// Sends a prompt and waits for the end of the turn, without any deadline: agents are silent for minutes while their model is
    /// unavailable. It fails at once when the agent dies. To end it, [`cancel`](Self::cancel) it and wait, with a deadline, for the
    /// outcome `cancelled`. Dropping the future also cancels the request, but most agents ignore that.
    ///
    /// Never send a second prompt while one runs: agents queue it, fold it into the first, or fail the first.
    pub async fn prompt(
        &self,
        session: &AcpSessionId,
        text: &str,
    ) -> Result<PromptOutcome, AcpError> {
        let method = "session/prompt";
        let params =
            json!({"sessionId": session.as_str(), "prompt": [{"type": "text", "text": text}]});
        let answer = self.send(method, params).await?;
        PromptOutcome::parse(&answer, self.secrets())
            .ok_or_else(|| malformed(method, "it has no `stopReason`"))
    }

    /// Asks the agent to end the session's turn; harmless if there is none. The outcome of the prompt is the answer.
    pub async fn cancel(&self, session: &AcpSessionId) -> Result<(), AcpError> {
        let method = "session/cancel";
        let params = json!({"sessionId": session.as_str()});
        let message = UntypedMessage { method: method.into(), params };
        match self.protocol.send_notification(message) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.failed(method, error).await),
        }
    }

    /// Ends a session.
    pub async fn close_session(&self, session: &AcpSessionId) -> Result<(), AcpError> {
        self.offered("session/close", Feature::Close)?;
        self.setting_call("session/close", json!({"sessionId": session.as_str()})).await
    }

    /// Makes the agent forget a session that it has stored.
    pub async fn delete_session(&self, session: &AcpSessionId) -> Result<(), AcpError> {
        self.offered("session/delete", Feature::Delete)?;
        self.setting_call("session/delete", json!({"sessionId": session.as_str()})).await
    }

    /// Chooses the session's model: by the setting of the category `model` if the session has one, else by the legacy
    /// `session/set_model`, which gemini still needs. Agents disagree on whether a name has to be one that they listed.
    pub async fn set_model(&self, session: &SessionInfo, model: &str) -> Result<(), AcpError> {
        let legacy =
            ("session/set_model", json!({"sessionId": session.id.as_str(), "modelId": model}));
        match session.setting("model") {
            Some(option) => {
                let newer = set_option(session, option.id.as_str(), model);
                if session.is_legacy_model(model) {
                    self.newer_or_older(legacy, newer).await
                } else {
                    self.newer_or_older(newer, legacy).await
                }
            }
            None => self.setting_call(legacy.0, legacy.1).await,
        }
    }

    /// Chooses the session's mode: by `session/set_mode` if the session lists modes, else by the setting of the category `mode`.
    pub async fn set_mode(&self, session: &SessionInfo, mode: &str) -> Result<(), AcpError> {
        let by_method =
            ("session/set_mode", json!({"sessionId": session.id.as_str(), "modeId": mode}));
        match session.setting("mode").map(|option| set_option(session, option.id.as_str(), mode)) {
            Some(by_option) if session.modes.is_empty() => {
                self.newer_or_older(by_option, by_method).await
            }
            Some(by_option) => self.newer_or_older(by_method, by_option).await,
            None => self.setting_call(by_method.0, by_method.1).await,
        }
    }

    /// Sends any request, with a deadline, and returns its raw result: for methods outside the protocol, such as `_session/steering`.
    pub async fn call(
        &self,
        method: &str,
        params: Value,
        deadline: Duration,
    ) -> Result<Value, AcpError> {
        match tokio::time::timeout(deadline, self.send(method, params)).await {
            Ok(result) => result,
            Err(_elapsed) => Err(AcpError::Deadline { method: method.into(), after: deadline }),
        }
    }

    /// Returns the agent's answer to `initialize`, once it has come.
    pub fn agent(&self) -> Option<&AgentInfo> {
        self.inner.agent.get()
    }

    /// Returns the counts of the lines read from the agent's stdout so far.
    pub fn line_counts(&self) -> LineCounts {
        self.inner.shared.stats.counts()
    }

    /// Waits until the connection has ended and returns the reason. After that every request fails at once.
    pub async fn closed(&self) -> Ending {
        ending(self.inner.progress.clone()).await
    }

    /// Ends the connection: waiting requests fail, earlier messages are still written (2 s at most), and the agent's stdin is closed;
    /// then this returns. Its stdout is read and discarded until it ends, for 30 s at most.
    pub async fn shutdown(&self) {
        self.inner.shared.stop.cancel();
        // An error means that the task has ended, which drops the pipe as well.
        let _ = self.inner.progress.clone().wait_for(|progress| progress.stdin_closed).await;
    }

    /// Waits until the connection's task has ended and both pipes are dropped.
    pub async fn ended(&self) {
        let mut progress = self.inner.progress.clone();
        while progress.changed().await.is_ok() {}
    }

    async fn reopen(
        &self,
        method: &str,
        session: &AcpSessionId,
        cwd: &Path,
        servers: &[McpServerSpec],
    ) -> Result<SessionInfo, AcpError> {
        let mut params = place(cwd, servers);
        params["sessionId"] = json!(session.as_str());
        let answer = self.session_call(method, params).await?;
        Ok(SessionInfo::parse(session.clone(), &answer, self.secrets()))
    }

    fn secrets(&self) -> &Secrets {
        &self.inner.shared.options.secrets
    }

    fn offered(&self, method: &str, feature: Feature) -> Result<(), AcpError> {
        if self.agent().is_some_and(|agent| agent.offers(feature)) {
            Ok(())
        } else {
            Err(AcpError::NotOffered { method: method.into() })
        }
    }

    async fn session_call(&self, method: &str, params: Value) -> Result<Value, AcpError> {
        self.call(method, params, self.inner.shared.options.deadlines.session).await
    }

    async fn setting_call(&self, method: &str, params: Value) -> Result<(), AcpError> {
        self.call(method, params, self.inner.shared.options.deadlines.setting).await.map(drop)
    }

    /// Tries one method, and the other if the agent does not know the first: agents do not always implement what they advertise.
    async fn newer_or_older(
        &self,
        first: (&str, Value),
        second: (&str, Value),
    ) -> Result<(), AcpError> {
        match self.setting_call(first.0, first.1).await {
            Err(AcpError::Refused { code, .. }) if code == ErrorCode::METHOD_NOT_FOUND.value() => {
                self.setting_call(second.0, second.1).await
            }
            result => result,
        }
    }

    async fn send(&self, method: &str, params: Value) -> Result<Value, AcpError> {
        let message = UntypedMessage { method: method.into(), params };
        match self.protocol.send_request(message).block_task().await {
            Ok(result) => Ok(result),
            Err(error) => Err(self.failed(method, error).await),
        }
    }

    async fn failed(&self, method: &str, error: Error) -> AcpError {
        let method = method.to_owned();
        // The two predicates recognise errors that the protocol crate made itself; an agent cannot send them.
        if is_incoming_transport_closed(&error) || is_connection_terminated(&error) {
            return AcpError::Closed { method, ending: self.closed().await };
        }
        if let Some(ending) = self.inner.progress.borrow().ending.clone() {
            return AcpError::Closed { method, ending };
        }
        AcpError::Refused {
            method,
            code: error.code.value(),
            message: text_bounds::line(&error.message, self.secrets(), AGENT_ERROR_CHARS).into(),
            data: error.data.map(|data| text_bounds::error_data(&data, self.secrets())),
        }
    }
}

/// Waits for the ending. The task always reports one, soon after the protocol ended, unless it panicked.
async fn ending(mut progress: watch::Receiver<Progress>) -> Ending {
    let over = progress.wait_for(|progress| progress.ending.is_some()).await;
    over.ok()
        .and_then(|progress| progress.ending.clone())
        .unwrap_or_else(|| Ending::Failed { problem: "its task is gone".into() })
}

fn place(cwd: &Path, servers: &[McpServerSpec]) -> Value {
    let servers: Vec<Value> = servers.iter().map(McpServerSpec::to_json).collect();
    json!({"cwd": cwd.to_string_lossy(), "mcpServers": servers})
}

fn set_option<'a>(session: &SessionInfo, option: &str, value: &str) -> (&'a str, Value) {
    let params = json!({"sessionId": session.id.as_str(), "configId": option, "value": value});
    ("session/set_config_option", params)
}

fn malformed(method: &str, problem: &str) -> AcpError {
    AcpError::Malformed { method: method.into(), problem: problem.into() }
}
