//! Plays one turn: the steps that answer one prompt.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agent_client_protocol::Client;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ContentBlock, FileSystemCapabilities, PermissionOption, PermissionOptionKind, Plan, PlanEntry,
    PlanEntryPriority, PlanEntryStatus, ReadTextFileRequest, RequestPermissionOutcome,
    RequestPermissionRequest, SessionId, SessionUpdate, StopReason, TextContent, ToolCall,
    ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
    UsageUpdate, WriteTextFileRequest,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;

use super::mcp_tools::{Answer, Toolbox, ToolsError};
use super::mid_turn_words::{self, Words};
use super::ordered_output::{Gone, Wire};
use super::text_blocks::chunk;
use crate::domain::wait_times;
use crate::scripted::script::script_format::Part;
use crate::scripted::script::script_template::{Scope, TemplateError};
use crate::scripted::script::verbs::{
    AskPermission, Call, Expect, OnReject, ReadFile, ScriptStep, WriteFile,
};

/// How a turn ends.
#[derive(Debug, PartialEq)]
pub(crate) enum TurnEnd {
    Stopped(StopReason),
    /// The prompt is answered with a JSON-RPC error.
    Failed {
        code: i32,
        message: String,
    },
    /// The process is to exit, and the prompt is never answered.
    Crashed(u8),
}

impl TurnEnd {
    fn failed(reason: &impl ToString) -> Self {
        // -32603 is JSON-RPC's "internal error".
        Self::Failed { code: -32603, message: reason.to_string() }
    }
}

impl From<TemplateError> for TurnEnd {
    fn from(error: TemplateError) -> Self {
        Self::failed(&error)
    }
}

impl From<ToolsError> for TurnEnd {
    fn from(error: ToolsError) -> Self {
        Self::failed(&error)
    }
}

impl From<Gone> for TurnEnd {
    fn from(error: Gone) -> Self {
        Self::failed(&error)
    }
}

/// The tools of a session: `None` until its servers run.
pub(crate) type Tools = Option<Result<Toolbox, ToolsError>>;

/// The memory of a session from turn to turn.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// The values that templates can name.
    pub(crate) scope: Scope,
    /// How often each turn of the part was played.
    pub(crate) played: Vec<u32>,
    /// Numbers the tool calls.
    calls: u64,
    /// Messages that were attached to results of this turn and that no `wait_for` has taken.
    inbox: Vec<Value>,
}

/// Plays turns of a part in one session.
pub(crate) struct Player<'m> {
    pub(crate) connection: ConnectionTo<Client>,
    pub(crate) wire: Arc<Wire>,
    /// The requests for files that the client offers; the protocol forbids to send others.
    pub(crate) files: FileSystemCapabilities,
    pub(crate) session: SessionId,
    pub(crate) part: Arc<Part>,
    pub(crate) tools: watch::Receiver<Tools>,
    /// Set by `ignore_cancel`: from then on the turn ignores cancellation.
    pub(crate) ignores_cancel: Arc<AtomicBool>,
    /// Texts that come into the turn while it runs.
    pub(crate) words: Arc<Words>,
    pub(crate) memory: &'m mut Memory,
}

/// A step that ends the turn returns the end as an error, so that `?` leaves all nested steps.
type Played = Result<(), TurnEnd>;

impl Player<'_> {
    /// Plays the first turn that fits the prompt and is not used up.
    pub(crate) async fn play(&mut self, prompt: String) -> TurnEnd {
        let part = Arc::clone(&self.part);
        self.memory.played.resize(part.turns.len(), 0);
        let Some(index) = part.next_turn(&prompt, &self.memory.played) else {
            return TurnEnd::failed(&format!(
                "no turn of `{}` is left that matches this prompt",
                part.name
            ));
        };
        self.memory.played[index] += 1;
        self.memory.scope.insert("prompt".to_owned(), Value::String(prompt));
        self.memory.inbox.clear();
        match self.steps(&part.turns[index].steps).await {
            Ok(()) => TurnEnd::Stopped(StopReason::EndTurn),
            Err(end) => end,
        }
    }

    /// Plays steps; boxed, because steps contain steps.
    fn steps<'a>(&'a mut self, steps: &'a [ScriptStep]) -> BoxFuture<'a, Played> {
        async move {
            for step in steps {
                self.step(step).await?;
            }
            Ok(())
        }
        .boxed()
    }

    async fn step(&mut self, step: &ScriptStep) -> Played {
        let scope = &self.memory.scope;
        match step {
            ScriptStep::Say(text) => {
                self.update(SessionUpdate::AgentMessageChunk(chunk(text.text(scope)?))).await
            }
            ScriptStep::Think(text) => {
                self.update(SessionUpdate::AgentThoughtChunk(chunk(text.text(scope)?))).await
            }
            ScriptStep::Stream { text, chunk, pause } => {
                self.stream(&text.text(scope)?, *chunk, *pause).await
            }
            ScriptStep::Call(call) => self.call(call).await,
            ScriptStep::WaitFor(call) => match self.take_attached(call)? {
                Some(message) => {
                    self.save(
                        call.save.as_ref(),
                        json!({ "message": message, "timed_out": false }),
                    );
                    Ok(())
                }
                None => self.call(call).await,
            },
            ScriptStep::AskPermission(question) => self.ask_permission(question).await,
            ScriptStep::ReadFile(file) => self.read_file(file).await,
            ScriptStep::WriteFile(file) => self.write_file(file).await,
            ScriptStep::Plan(entries) => {
                let entries =
                    entries.iter().map(|entry| entry.text(scope)).collect::<Result<Vec<_>, _>>()?;
                self.update(SessionUpdate::Plan(plan(entries))).await
            }
            ScriptStep::Usage { used, size } => {
                self.update(SessionUpdate::UsageUpdate(UsageUpdate::new(*used, *size))).await
            }
            ScriptStep::Heed { timeout, save } => {
                let words = tokio::time::timeout(*timeout, self.words.next());
                let text = words.await.ok();
                self.save(save.as_ref(), json!({ "text": text }));
                Ok(())
            }
            ScriptStep::Sleep(time) => {
                tokio::time::sleep(*time).await;
                Ok(())
            }
            ScriptStep::Fail { message, code } => {
                Err(TurnEnd::Failed { code: *code, message: message.text(scope)? })
            }
            ScriptStep::Refuse => Err(TurnEnd::Stopped(StopReason::Refusal)),
            ScriptStep::Crash(code) => Err(TurnEnd::Crashed(*code)),
            ScriptStep::Fork(command) => fork(command),
            ScriptStep::Stderr(text) => {
                write_stderr(&text.text(scope)?).await;
                Ok(())
            }
            ScriptStep::Raw(line) => Ok(self.wire.raw(&self.connection, line.clone()).await?),
            ScriptStep::Hang => std::future::pending().await,
            ScriptStep::IgnoreCancel => {
                self.ignores_cancel.store(true, Ordering::Release);
                Ok(())
            }
            ScriptStep::Stop => Err(TurnEnd::Stopped(StopReason::EndTurn)),
            ScriptStep::Repeat { times, steps } => {
                for _ in 0..*times {
                    self.steps(steps).await?;
                }
                Ok(())
            }
            ScriptStep::If { condition, steps, otherwise } => {
                let steps = if condition.holds(scope)? { steps } else { otherwise };
                self.steps(steps).await
            }
        }
    }

    async fn update(&self, update: SessionUpdate) -> Played {
        Ok(self.wire.update(&self.connection, &self.session, update).await?)
    }

    async fn stream(&self, text: &str, size: usize, pause: Duration) -> Played {
        let characters: Vec<char> = text.chars().collect();
        for (index, piece) in characters.chunks(size).enumerate() {
            if index > 0 {
                tokio::time::sleep(pause).await;
            }
            self.update(SessionUpdate::AgentMessageChunk(chunk(piece.iter().collect()))).await?;
        }
        Ok(())
    }

    fn next_call_id(&mut self) -> String {
        self.memory.calls += 1;
        format!("call-{}", self.memory.calls)
    }

    fn save(&mut self, name: Option<&String>, value: Value) {
        if let Some(name) = name {
            self.memory.scope.insert(name.clone(), value.clone());
        }
        self.memory.scope.insert("last".to_owned(), value);
    }

    /// Takes the oldest message that was attached to a result and fits a `wait_for`. It counts as read, so no tool returns it again.
    fn take_attached(&mut self, call: &Call) -> Result<Option<Value>, TurnEnd> {
        let mut filters = Vec::new();
        for (key, pattern) in &call.with {
            if matches!(key.as_str(), "from" | "request_id") {
                filters.push((key.as_str(), pattern.value(&self.memory.scope)?));
            }
        }
        let inbox = &mut self.memory.inbox;
        let fits = |message: &Value| filters.iter().all(|(key, value)| message[key] == *value);
        let place = inbox.iter().position(fits);
        Ok(place.map(|place| inbox.remove(place)))
    }

    async fn call(&mut self, call: &Call) -> Played {
        let tools = self.tools().await?;
        let scope = &self.memory.scope;
        let arguments =
            call.with.iter().map(|(key, pattern)| Ok((key.clone(), pattern.value(scope)?)));
        let arguments: Map<String, Value> = arguments.collect::<Result<_, TemplateError>>()?;
        let id = self.next_call_id();
        let shown = ToolCall::new(id.clone(), tools.title(&call.tool))
            .status(ToolCallStatus::InProgress)
            .raw_input(Value::Object(arguments.clone()));
        self.update(SessionUpdate::ToolCall(shown)).await?;
        let answer = tools.call(&call.tool, arguments).await;
        let (status, text, output) = match &answer {
            Ok(Answer::Result(result)) => {
                (ToolCallStatus::Completed, result.to_string(), Some(result.clone()))
            }
            Ok(Answer::Error(error)) => (ToolCallStatus::Failed, error.clone(), None),
            Err(error) => (ToolCallStatus::Failed, error.to_string(), None),
        };
        let fields = ToolCallUpdateFields::new()
            .status(status)
            .content(vec![ToolCallContent::from(ContentBlock::Text(TextContent::new(text)))])
            .raw_output(output);
        self.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields))).await?;
        if self.part.start.drain {
            mid_turn_words::drain(&self.connection, &self.session, &self.words).await;
        }
        let tool = &call.tool;
        let answer = match answer {
            // As with real agents, the model gets the error of the tool.
            Err(error) if call.expect == Expect::Error => Answer::Error(error.to_string()),
            answer => answer?,
        };
        match (answer, call.expect) {
            (Answer::Result(result), Expect::Result) => {
                let attached = result.get("inbox").and_then(Value::as_array);
                self.memory.inbox.extend(attached.into_iter().flatten().cloned());
                self.save(call.save.as_ref(), result);
            }
            (Answer::Error(error), Expect::Error) => {
                self.save(call.save.as_ref(), json!({ "error": error }));
            }
            (Answer::Error(error), Expect::Result) => {
                return Err(TurnEnd::failed(&format!("`{tool}` answered with an error: {error}")));
            }
            (Answer::Result(result), Expect::Error) => {
                return Err(TurnEnd::failed(&format!(
                    "`{tool}` should have failed, but answered {result}"
                )));
            }
        }
        Ok(())
    }

    /// Returns the tools of the first server, once it runs.
    async fn tools(&mut self) -> Result<Toolbox, TurnEnd> {
        // The session's owner reports the result in any case: the start of the servers has a deadline.
        let tools = self.tools.wait_for(Option::is_some).await.map_err(|_| ToolsError::None)?;
        let tools = tools.as_ref().expect("it was just waited for");
        Ok(tools.clone()?)
    }

    async fn read_file(&mut self, file: &ReadFile) -> Played {
        let path = file.path.text(&self.memory.scope)?;
        let answer = if self.files.read_text_file {
            let request = ReadTextFileRequest::new(self.session.clone(), absolute(&path)?)
                .line(file.line)
                .limit(file.limit);
            let answer = self.connection.send_request(request).block_task().await;
            answer.map(|read| json!({ "content": read.content })).map_err(|error| error.message)
        } else {
            Err(not_offered("fs/read_text_file"))
        };
        self.done_with_file(answer, file.save.as_ref(), file.expect)
    }

    async fn write_file(&mut self, file: &WriteFile) -> Played {
        let scope = &self.memory.scope;
        let (path, content) = (file.path.text(scope)?, file.content.text(scope)?);
        let answer = if self.files.write_text_file {
            let session = self.session.clone();
            let request = WriteTextFileRequest::new(session, absolute(&path)?, content);
            let answer = self.connection.send_request(request).block_task().await;
            answer.map(|_| json!({ "written": true })).map_err(|error| error.message)
        } else {
            Err(not_offered("fs/write_text_file"))
        };
        self.done_with_file(answer, file.save.as_ref(), file.expect)
    }

    fn done_with_file(
        &mut self,
        answer: Result<Value, String>,
        save: Option<&String>,
        expect: Expect,
    ) -> Played {
        match (answer, expect) {
            (Ok(result), Expect::Result) => self.save(save, result),
            (Err(error), Expect::Error) => {
                self.save(save, json!({ "error": error }));
            }
            (Ok(_), Expect::Error) => {
                return Err(TurnEnd::failed(&"the client should have refused the file"));
            }
            (Err(error), Expect::Result) => return Err(TurnEnd::failed(&error)),
        }
        Ok(())
    }

    async fn ask_permission(&mut self, question: &AskPermission) -> Played {
        let title = question.title.text(&self.memory.scope)?;
        let id = match &question.call_id {
            Some(id) => id.clone(),
            None => self.next_call_id(),
        };
        let places = question.paths.iter();
        let places = places.map(|path| Ok(ToolCallLocation::new(path.text(&self.memory.scope)?)));
        let places: Vec<_> = places.collect::<Result<_, TemplateError>>()?;
        let shown = ToolCall::new(id.clone(), title.clone())
            .kind(question.kind)
            .locations(places.clone())
            .status(ToolCallStatus::Pending);
        if !question.unannounced {
            self.update(SessionUpdate::ToolCall(shown)).await?;
        }
        let fields = ToolCallUpdateFields::new()
            .locations(question.unannounced.then_some(places))
            .title(title)
            .kind(question.kind)
            .status(ToolCallStatus::Pending);
        let request = RequestPermissionRequest::new(
            self.session.clone(),
            ToolCallUpdate::new(id.clone(), fields),
            vec![
                PermissionOption::new("allow_once", "Allow", PermissionOptionKind::AllowOnce),
                PermissionOption::new(
                    "allow_always",
                    "Always allow",
                    PermissionOptionKind::AllowAlways,
                ),
                PermissionOption::new("reject_once", "Reject", PermissionOptionKind::RejectOnce),
            ],
        );
        let answer = self.connection.send_request(request).block_task();
        let answer = tokio::time::timeout(wait_times::SCRIPTED_PERMISSION, answer)
            .await
            .map_err(|_| TurnEnd::failed(&"the permission question was not answered"))?
            .map_err(|error| {
                TurnEnd::failed(&format!("the permission question failed: {}", error.message))
            })?;
        let RequestPermissionOutcome::Selected(selected) = answer.outcome else {
            return Err(TurnEnd::Stopped(StopReason::Cancelled));
        };
        let option = selected.option_id.to_string();
        let is_allowed = matches!(option.as_str(), "allow_once" | "allow_always");
        let status = if is_allowed { ToolCallStatus::Completed } else { ToolCallStatus::Failed };
        let fields = ToolCallUpdateFields::new().status(status);
        if is_allowed || !question.unannounced {
            self.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields))).await?;
        }
        self.save(question.save.as_ref(), json!({ "allowed": is_allowed, "option": option }));
        match (is_allowed, question.on_reject) {
            (false, OnReject::Stop) => Err(TurnEnd::Stopped(StopReason::EndTurn)),
            (true, _) | (false, OnReject::Continue) => Ok(()),
        }
    }
}

/// Says why a request is not sent.
fn not_offered(method: &str) -> String {
    format!("the client does not offer `{method}`")
}

/// Makes a path absolute, as the protocol requires, and leaves it unchanged otherwise.
fn absolute(path: &str) -> Result<PathBuf, TurnEnd> {
    let here = std::env::current_dir().map_err(|error| TurnEnd::failed(&error))?;
    Ok(here.join(path))
}

/// Writes a line to stderr.
pub(crate) async fn write_stderr(text: &str) {
    let mut stderr = tokio::io::stderr();
    let line = format!("{text}\n");
    // Flushed, because a crash would not wait for the thread that writes. If stderr is closed, the failure is ignored.
    if stderr.write_all(line.as_bytes()).await.is_ok() {
        stderr.flush().await.ok();
    }
}

/// Makes a plan whose first entry is in progress.
fn plan(entries: Vec<String>) -> Plan {
    let status = |index| {
        if index == 0 { PlanEntryStatus::InProgress } else { PlanEntryStatus::Pending }
    };
    let entries = entries.into_iter().enumerate();
    Plan::new(
        entries
            .map(|(index, text)| PlanEntry::new(text, PlanEntryPriority::Medium, status(index)))
            .collect(),
    )
}

/// Starts a command in our process group and leaves it running. It keeps our stderr, as children of real agents do.
fn fork(command: &str) -> Played {
    let mut shell = tokio::process::Command::new("sh");
    shell.arg("-c").arg(command).stdin(Stdio::null()).stdout(Stdio::null());
    match shell.spawn() {
        Ok(_child) => Ok(()),
        Err(error) => Err(TurnEnd::failed(&format!("failed to fork `{command}`: {error}"))),
    }
}
